! SPDX-License-Identifier: Apache-2.0
!> NAS FT: solves a diffusion equation in Fourier space (Bailey et al., The NAS Parallel Benchmarks, RNR-94-007,
!> kernel FT).
module ft_m
  use, intrinsic :: iso_c_binding, only: c_double_complex, c_int, c_int64_t
  use comm_m, only: comm_barrier, comm_sum_to_root
  use fft_m, only: lanes
  use layout_m, only: grid_init, grid_t, layout_free, layout_init, layout_t
  use npb_m, only: dp, phase_begin, phase_end, phases_clear, random_fill, random_next, random_power
  use transform_m, only: factors_t, forward, inverse, transform_init, transform_t
  implicit none
  private
  public :: ft_run

  real(dp), parameter :: pi = acos(-1.0_dp), alpha = 1.0e-6_dp
  integer(c_int64_t), parameter :: seed = 314159265_c_int64_t, multiplier = 1220703125_c_int64_t
  integer, parameter :: checksum_points = 1024

  !> Indices of the phases in ft.cpp.
  integer(c_int), parameter :: phase_total = 0, phase_setup = 1, phase_fft = 2, phase_checksum = 4, phase_sync = 7

contains

  !> Runs the benchmark. Returns the checksums of all iterations on rank 0, and zeros on the others.
  subroutine ft_run(n, p1, p2, iterations, comm, fault, checksums) bind(c, name="fabricbench_ft_run")
    integer(c_int), intent(in) :: n(3)
    integer(c_int), intent(in), value :: p1, p2, iterations, comm, fault
    complex(c_double_complex), intent(out) :: checksums(iterations)
    type(layout_t) :: layout
    type(transform_t), target :: transform
    type(factors_t) :: factors
    type(grid_t), target :: spectrum, first, second
    type(grid_t), pointer :: other
    integer :: t

    call layout_init(layout, n, p1, p2, comm)
    call grid_init(spectrum, layout%all_chunks)
    call grid_init(first, layout%all_chunks)
    other => first
    if (p1 * p2 > 1) then
      call grid_init(second, layout%all_chunks)
      other => second
    end if

    call start(layout, fault, transform, first, other, spectrum)
    call comm_barrier(comm, phase_sync)
    call phases_clear()
    call phase_begin(phase_total)
    call start(layout, fault, transform, first, other, spectrum)
    do t = 1, iterations
      call phase_begin(phase_fft)
      call set_factors(factors, layout, t)
      call inverse(transform, layout, spectrum, factors, first, other)
      call phase_end(phase_fft)
      call phase_begin(phase_checksum)
      checksums(t) = checksum(layout, first, comm)
      call phase_end(phase_checksum)
    end do
    call phase_end(phase_total)
    call layout_free(layout)
  end subroutine ft_run

  !> Sets the initial state and transforms it to the spectrum. `first` and `other` are as `a` and `b` of transform_m.
  subroutine start(layout, fault, transform, first, other, spectrum)
    type(layout_t), intent(in) :: layout
    integer(c_int), intent(in) :: fault
    type(transform_t), intent(inout), target :: transform
    type(grid_t), intent(in) :: first, other, spectrum

    call phase_begin(phase_setup)
    call set_initial(layout, first)
    if (fault /= 0) call perturb(layout, first)
    call transform_init(transform, layout)
    call phase_end(phase_setup)
    call phase_begin(phase_fft)
    call forward(transform, layout, first, other, spectrum)
    call phase_end(phase_fft)
  end subroutine start

  !> Fills the grid with NASA's random numbers in the order x, y, z (x fastest), real part before imaginary part.
  subroutine set_initial(layout, grid)
    type(layout_t), intent(in) :: layout
    type(grid_t), intent(in) :: grid
    real(dp), allocatable :: rows(:, :)
    integer(c_int64_t) :: states(0:lanes - 1), skipped
    integer :: y, z, layer, line

    line = 2 * layout%n(1)
    allocate (rows(line, lanes))
    do layer = 0, layout%layers - 1
      states = seed
      do z = 0, layout%depth - 1
        skipped = layout%me2 * layout%planes + layer * layout%depth + z
        skipped = line * (skipped * layout%n(2) + layout%me1 * layout%rows_x)
        if (skipped > 0) call skip(states(z), skipped)
      end do
      do y = 0, layout%rows_x - 1, layout%width
        do z = 0, layout%depth - 1
          call random_fill(int(line * layout%width, c_int64_t), states(z), multiplier, rows(:, 1 + z * layout%width:))
        end do
        call spread_lanes(line, rows, grid%at(:, :, y / layout%width * layout%n(1) + layer * layout%plane_physical:))
      end do
    end do
  end subroutine set_initial

  subroutine skip(state, numbers)
    integer(c_int64_t), intent(inout) :: state
    integer(c_int64_t), intent(in) :: numbers
    real(dp) :: unused

    unused = random_next(state, random_power(multiplier, numbers))
  end subroutine skip

  pure subroutine spread_lanes(n, rows, chunks)
    integer, intent(in) :: n
    real(dp), intent(in) :: rows(n, lanes)
    real(dp), intent(out) :: chunks(lanes, n)
    integer :: i

    !$omp simd
    do i = 1, n
      chunks(1, i) = rows(i, 1)
      chunks(2, i) = rows(i, 2)
      chunks(3, i) = rows(i, 3)
      chunks(4, i) = rows(i, 4)
      chunks(5, i) = rows(i, 5)
      chunks(6, i) = rows(i, 6)
      chunks(7, i) = rows(i, 7)
      chunks(8, i) = rows(i, 8)
    end do
  end subroutine spread_lanes

  !> Flips the highest bit of the mantissa of one element that the checksum reads.
  subroutine perturb(layout, grid)
    type(layout_t), intent(in) :: layout
    type(grid_t), intent(in) :: grid
    integer :: lane, chunk

    call locate(layout, 1, lane, chunk)
    if (chunk < 0) return
    grid%at(lane, 1, chunk) = transfer(ieor(transfer(grid%at(lane, 1, chunk), 0_c_int64_t), &
                                            shiftl(1_c_int64_t, 51)), 0.0_dp)
  end subroutine perturb

  !> Returns lane and chunk of the j-th point of the checksum; the chunk is -1 if another rank holds the point.
  pure subroutine locate(layout, j, lane, chunk)
    type(layout_t), intent(in) :: layout
    integer, intent(in) :: j
    integer, intent(out) :: lane, chunk
    integer :: x, y, z

    x = modulo(j, layout%n(1))
    y = modulo(3 * j, layout%n(2)) - layout%me1 * layout%rows_x
    z = modulo(5 * j, layout%n(3)) - layout%me2 * layout%planes
    lane = modulo(y, layout%width) + layout%width * modulo(z, layout%depth) + 1
    chunk = -1
    if (y < 0 .or. y >= layout%rows_x .or. z < 0 .or. z >= layout%planes) return
    chunk = x + y / layout%width * layout%n(1) + z / layout%depth * layout%plane_physical
  end subroutine locate

  !> Returns the evolution factors of time t for this rank's part of the spectrum.
  pure subroutine set_factors(factors, layout, t)
    type(factors_t), intent(out) :: factors
    type(layout_t), intent(in) :: layout
    integer, intent(in) :: t
    integer :: groups_y, x, y, z, v

    groups_y = layout%rows_z / layout%depth
    allocate (factors%x(lanes, 0:layout%chunks - 1), factors%y(lanes, 0:groups_y - 1), factors%z(0:layout%n(3) - 1))
    do x = 0, layout%chunks - 1
      factors%x(:, x) = [(factor(modulo(v, layout%width) + layout%width * (x + layout%me1 * layout%chunks), &
                                 layout%n(1)), v=0, lanes - 1)]
    end do
    do y = 0, groups_y - 1
      factors%y(:, y) = [(factor(v / layout%width + layout%depth * y + layout%me2 * layout%rows_z, layout%n(2)), &
                          v=0, lanes - 1)]
    end do
    factors%z = [(factor(z, layout%n(3)), z=0, layout%n(3) - 1)]

  contains

    !> Returns the signed frequency: frequencies from half the length on are negative.
    pure real(dp) function factor(k, length)
      integer, intent(in) :: k, length

      factor = exp(-4 * alpha * pi**2 * t * real(modulo(k + length / 2, length) - length / 2, dp)**2)
    end function factor
  end subroutine set_factors

  !> Returns NASA's checksum on rank 0, and 0 on the others.
  complex(dp) function checksum(layout, grid, comm) result(total)
    type(layout_t), intent(in) :: layout
    type(grid_t), intent(in) :: grid
    integer, intent(in) :: comm
    integer :: j, lane, chunk

    total = 0.0_dp
    do j = 1, checksum_points
      call locate(layout, j, lane, chunk)
      if (chunk >= 0) total = total + cmplx(grid%at(lane, 1, chunk), grid%at(lane, 2, chunk), dp)
    end do
    total = total / product(real(layout%n, dp))
    call comm_sum_to_root(total, comm, phase_sync)
  end function checksum
end module ft_m
