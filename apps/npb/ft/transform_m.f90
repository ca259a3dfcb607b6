! SPDX-License-Identifier: Apache-2.0
!> Three-dimensional transforms over a grid of p1 by p2 ranks. layout_m describes the stages of the data.
!>
!> The pieces of an exchange are contiguous, because the transforms before and after it pack and unpack them.
module transform_m
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_loc
  use comm_m, only: comm_alltoall
  use fft_m, only: fft_begin, fft_finish, fft_init, fft_t, lanes
  use layout_m, only: grid_init, grid_t, layout_t
  use npb_m, only: dp, phase_begin, phase_end
  use turn_m, only: turn_from_rows, turn_to_rows
  implicit none
  private
  public :: transform_t, transform_init, factors_t, forward, inverse

  !> Indices of the phases in ft.cpp.
  integer(c_int), parameter :: phase_evolve = 3, phase_exchange_xz = 5, phase_exchange_xy = 6

  !> exp(-4 pi**2 alpha t k**2) along each dimension, for this rank's part of the spectrum. The evolution factors are
  !> products of three of them and are not stored.
  type :: factors_t
    real(dp), allocatable :: x(:, :) !< shape: lanes, 0:chunks - 1
    real(dp), allocatable :: y(:, :) !< shape: lanes, 0:rows_z / depth - 1
    real(dp), allocatable :: z(:)    !< shape: 0:nz - 1
  end type factors_t

  type :: transform_t
    type(fft_t) :: along_x, along_y, along_z
    type(grid_t) :: line
    integer, allocatable :: in_order(:)                  !< 0, 1, 2 …
    integer, allocatable :: z_at(:)                      !< z side: chunk of z / depth
    integer, allocatable :: y_at_z_side(:), y_at_x_side(:)
    integer, allocatable :: x_at(:), row_at(:)           !< x side: chunk of x / width; both sides: chunk of y
  end type transform_t

contains

  subroutine transform_init(transform, layout)
    type(transform_t), intent(out), target :: transform
    type(layout_t), intent(in) :: layout
    integer :: rows, i

    call fft_init(transform%along_x, layout%n(1))
    call fft_init(transform%along_y, layout%n(2))
    call fft_init(transform%along_z, layout%n(3))
    call grid_init(transform%line, maxval(layout%n))
    transform%in_order = [(i, i=0, maxval(layout%n) - 1)]
    transform%z_at = [(i * layout%plane_z, i=0, layout%n(3) / layout%depth - 1)]
    transform%y_at_z_side = places(layout%n(2), layout%rows_z, layout%chunks, layout%layers * layout%plane_z)
    transform%y_at_x_side = places(layout%n(2), layout%rows_x, layout%chunks, layout%layers * layout%plane_x)
    allocate (transform%x_at(0:layout%n(1) / layout%width - 1), &
              source=places(layout%n(1) / layout%width, layout%chunks, 1, layout%layers * layout%plane_x))
    rows = max(layout%rows_x, layout%rows_z)
    allocate (transform%row_at(0:rows - 1), source=[(layout%chunks * i, i=0, rows - 1)])
  end subroutine transform_init

  !> Returns the chunks of n elements in pieces of `part` elements. Elements of a piece are `stride` chunks apart, and
  !> pieces are `piece` chunks apart.
  pure function places(n, part, stride, piece) result(at)
    integer, intent(in) :: n, part, stride, piece
    integer :: at(n)
    integer :: i

    at = [(stride * modulo(i, part) + piece * (i / part), i=0, n - 1)]
  end function places

  !> Transforms physical space in `a` to the spectrum. `b` is a second grid of the same size, or `a` itself on one rank.
  subroutine forward(transform, layout, a, b, spectrum)
    type(transform_t), intent(inout) :: transform
    type(layout_t), intent(in) :: layout
    type(grid_t), intent(in) :: a, b
    type(grid_t), intent(in) :: spectrum
    integer :: z

    if (layout%p1 == 1) then
      do z = 0, layout%layers - 1
        call x_forward(transform, layout, z, a%at, a%at)
        call y_lines(transform, layout, z, a%at, transform%y_at_x_side, layout%plane_x, &
                     b%at, transform%y_at_z_side, layout%plane_z, .false.)
      end do
    else
      do z = 0, layout%layers - 1
        call x_forward(transform, layout, z, a%at, b%at)
      end do
      call exchange(b, a, layout%layers * layout%plane_x, layout%comm1, phase_exchange_xy)
      do z = 0, layout%layers - 1
        call y_lines(transform, layout, z, a%at, transform%y_at_x_side, layout%plane_x, &
                     b%at, transform%y_at_z_side, layout%plane_z, .false.)
      end do
    end if
    if (layout%p2 == 1) then
      call z_forward(transform, layout, b%at, spectrum%at)
    else
      call exchange(b, a, layout%layers * layout%plane_z, layout%comm2, phase_exchange_xz)
      call z_forward(transform, layout, a%at, spectrum%at)
    end if
  end subroutine forward

  !> Multiplies the spectrum by the factors and transforms it to physical space in `a`. `b` is as in the forward case.
  subroutine inverse(transform, layout, spectrum, factors, a, b)
    type(transform_t), intent(inout) :: transform
    type(layout_t), intent(in) :: layout
    type(grid_t), intent(in) :: spectrum
    type(factors_t), intent(in) :: factors
    type(grid_t), intent(in) :: a, b
    integer :: z

    if (layout%p2 == 1) then
      call z_inverse(transform, layout, spectrum%at, factors, b%at)
    else
      call z_inverse(transform, layout, spectrum%at, factors, a%at)
      call exchange(a, b, layout%layers * layout%plane_z, layout%comm2, phase_exchange_xz)
    end if
    if (layout%p1 == 1) then
      do z = 0, layout%layers - 1
        call y_lines(transform, layout, z, b%at, transform%y_at_z_side, layout%plane_z, &
                     a%at, transform%y_at_x_side, layout%plane_x, .true.)
        call x_inverse(transform, layout, z, a%at, a%at)
      end do
    else
      do z = 0, layout%layers - 1
        call y_lines(transform, layout, z, b%at, transform%y_at_z_side, layout%plane_z, &
                     a%at, transform%y_at_x_side, layout%plane_x, .true.)
      end do
      call exchange(a, b, layout%layers * layout%plane_x, layout%comm1, phase_exchange_xy)
      do z = 0, layout%layers - 1
        call x_inverse(transform, layout, z, b%at, a%at)
      end do
    end if
  end subroutine inverse

  !> Exchanges `chunks` chunks between all ranks of `comm`.
  subroutine exchange(from, to, chunks, comm, phase)
    type(grid_t), intent(in) :: from
    type(grid_t), intent(in) :: to
    integer, intent(in) :: chunks, comm
    integer(c_int), intent(in) :: phase
    complex(dp), pointer :: send(:), receive(:)

    call c_f_pointer(c_loc(from%at), send, [lanes * size(from%at, 3)])
    call c_f_pointer(c_loc(to%at), receive, [lanes * size(to%at, 3)])
    call comm_alltoall(send, receive, lanes * chunks, comm, phase)
  end subroutine exchange

  !> Transforms the lines along y of one layer.
  subroutine y_lines(transform, layout, z, from, from_at, from_plane, to, to_at, to_plane, backwards)
    type(transform_t), intent(inout) :: transform
    type(layout_t), intent(in) :: layout
    integer, intent(in) :: z, from_plane, to_plane
    integer, intent(in), contiguous :: from_at(0:), to_at(0:)
    real(dp), pointer, contiguous, intent(in) :: from(:, :, :), to(:, :, :)
    logical, intent(in) :: backwards
    integer :: x

    do x = 0, layout%chunks - 1
      call fft_begin(transform%along_y, from(:, :, x + z * from_plane:), from_at, backwards)
      call fft_finish(transform%along_y, to(:, :, x + z * to_plane:), to_at, backwards)
    end do
  end subroutine y_lines

  subroutine z_forward(transform, layout, from, spectrum)
    type(transform_t), intent(inout) :: transform
    type(layout_t), intent(in) :: layout
    real(dp), pointer, contiguous, intent(in) :: from(:, :, :), spectrum(:, :, :)
    integer :: x, y, z, i, group

    do y = 0, layout%rows_z - 1, layout%depth
      do x = 0, layout%chunks - 1
        i = x + layout%chunks * y
        group = x + layout%chunks * (y / layout%depth)
        if (layout%depth == 1) then
          call fft_begin(transform%along_z, from(:, :, i:), transform%z_at, .false.)
        else
          do z = 0, layout%n(3) / layout%depth - 1
            call turn_from_rows(layout%depth, layout%width, from(:, :, i + transform%z_at(z + 1):), transform%row_at, &
                                transform%line%at(:, :, layout%depth * z:))
          end do
          call fft_begin(transform%along_z, transform%line%at, transform%in_order, .false.)
        end if
        call fft_finish(transform%along_z, spectrum(:, :, group * layout%n(3):), transform%in_order, .false.)
      end do
    end do
  end subroutine z_forward

  subroutine z_inverse(transform, layout, spectrum, factors, to)
    type(transform_t), intent(inout) :: transform
    type(layout_t), intent(in) :: layout
    real(dp), pointer, contiguous, intent(in) :: spectrum(:, :, :), to(:, :, :)
    type(factors_t), intent(in) :: factors
    integer :: x, y, z, i, group

    do y = 0, layout%rows_z - 1, layout%depth
      do x = 0, layout%chunks - 1
        i = x + layout%chunks * y
        group = x + layout%chunks * (y / layout%depth)
        call phase_begin(phase_evolve)
        call evolve(layout%n(3), spectrum(:, :, group * layout%n(3):), &
                    factors%x(:, x) * factors%y(:, y / layout%depth), factors%z, transform%line%at)
        call phase_end(phase_evolve)
        call fft_begin(transform%along_z, transform%line%at, transform%in_order, .true.)
        if (layout%depth == 1) then
          call fft_finish(transform%along_z, to(:, :, i:), transform%z_at, .true.)
          cycle
        end if
        call fft_finish(transform%along_z, transform%line%at, transform%in_order, .true.)
        do z = 0, layout%n(3) / layout%depth - 1
          call turn_to_rows(layout%depth, layout%width, transform%line%at(:, :, layout%depth * z:), &
                            to(:, :, i + transform%z_at(z + 1):), transform%row_at)
        end do
      end do
    end do
  end subroutine z_inverse

  pure subroutine evolve(n, line, factor_xy, factor_z, evolved)
    integer, intent(in) :: n
    real(dp), intent(in) :: line(lanes, 2, n), factor_xy(lanes), factor_z(n)
    real(dp), intent(out) :: evolved(lanes, 2, n)
    integer :: i, v

    do i = 1, n
      !$omp simd
      do v = 1, lanes
        evolved(v, 1, i) = line(v, 1, i) * (factor_xy(v) * factor_z(i))
        evolved(v, 2, i) = line(v, 2, i) * (factor_xy(v) * factor_z(i))
      end do
    end do
  end subroutine evolve

  !> Transforms the lines along x of one layer, between chunks of y and chunks of x.
  subroutine x_forward(transform, layout, z, from, to)
    type(transform_t), intent(inout) :: transform
    type(layout_t), intent(in) :: layout
    integer, intent(in) :: z
    real(dp), pointer, contiguous, intent(in) :: from(:, :, :), to(:, :, :)
    integer :: x, y

    do y = 0, layout%rows_x - 1, layout%width
      call fft_begin(transform%along_x, from(:, :, y / layout%width * layout%n(1) + z * layout%plane_physical:), &
                     transform%in_order, .false.)
      call fft_finish(transform%along_x, transform%line%at, transform%in_order, .false.)
      do x = 0, layout%n(1) / layout%width - 1
        call turn_to_rows(layout%width, 1, transform%line%at(:, :, layout%width * x:), &
                          to(:, :, transform%x_at(x) + z * layout%plane_x:), transform%row_at(y:))
      end do
    end do
  end subroutine x_forward

  subroutine x_inverse(transform, layout, z, from, to)
    type(transform_t), intent(inout) :: transform
    type(layout_t), intent(in) :: layout
    integer, intent(in) :: z
    real(dp), pointer, contiguous, intent(in) :: from(:, :, :), to(:, :, :)
    integer :: x, y

    do y = 0, layout%rows_x - 1, layout%width
      do x = 0, layout%n(1) / layout%width - 1
        call turn_from_rows(layout%width, 1, from(:, :, transform%x_at(x) + z * layout%plane_x:), &
                            transform%row_at(y:), transform%line%at(:, :, layout%width * x:))
      end do
      call fft_begin(transform%along_x, transform%line%at, transform%in_order, .true.)
      call fft_finish(transform%along_x, to(:, :, y / layout%width * layout%n(1) + z * layout%plane_physical:), &
                      transform%in_order, .true.)
    end do
  end subroutine x_inverse
end module transform_m
