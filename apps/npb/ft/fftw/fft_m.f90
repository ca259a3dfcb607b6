! SPDX-License-Identifier: Apache-2.0
!> Implements the procedures of ../fft_m.f90 with FFTW 3 (Frigo and Johnson, Proceedings of the IEEE 93(2), 2005) and
!> its Fortran 2003 interface. Eight lines in split format are gathered into one buffer and scattered from another.
module fft_m
  use, intrinsic :: iso_c_binding
  use aligned_m, only: aligned_shift, slack
  use npb_m, only: dp
  implicit none
  private
  public :: lanes, fft_t, fft_init, fft_begin, fft_finish

  include "fftw3.f03"

  integer, parameter :: lanes = 8, chunk = 2 * lanes

  type :: fft_t
    integer :: n = 0
    real(dp), allocatable, private :: work(:)
    integer, private :: first = 0, second = 0 !< starts of the two buffers in `work`
    type(c_ptr), private :: plan = c_null_ptr
  contains
    final :: fft_free
  end type fft_t

contains

  !> Sets up transforms of length n. Planning is part of the timed region, so FFTW estimates its plan without measuring.
  subroutine fft_init(fft, n)
    type(fft_t), intent(out) :: fft
    integer, intent(in) :: n
    type(fftw_iodim) :: line(1), neighbours(1)

    fft%n = n
    allocate (fft%work(2 * chunk * n + slack))
    fft%first = aligned_shift(fft%work)
    fft%second = fft%first + chunk * n
    line(1) = fftw_iodim(int(n, c_int), int(chunk, c_int), int(chunk, c_int))
    neighbours(1) = fftw_iodim(int(lanes, c_int), 1_c_int, 1_c_int)
    fft%plan = fftw_plan_guru_split_dft(1_c_int, line, 1_c_int, neighbours, fft%work(fft%first + 1), &
                                        fft%work(fft%first + 1 + lanes), fft%work(fft%second + 1), &
                                        fft%work(fft%second + 1 + lanes), FFTW_ESTIMATE)
    if (.not. c_associated(fft%plan)) error stop "FFTW has no plan"
  end subroutine fft_init

  impure elemental subroutine fft_free(fft)
    type(fft_t), intent(inout) :: fft

    if (c_associated(fft%plan)) call fftw_destroy_plan(fft%plan)
    fft%plan = c_null_ptr
  end subroutine fft_free

  subroutine fft_begin(fft, grid, place, inverse)
    type(fft_t), intent(inout) :: fft
    real(dp), intent(in) :: grid(lanes, 2, 0:*)
    integer, intent(in) :: place(0:*)
    logical, intent(in) :: inverse

    call gather(fft%n, grid, place, merge(2, 1, inverse), fft%work(fft%first + 1))
  end subroutine fft_begin

  subroutine fft_finish(fft, grid, place, inverse)
    type(fft_t), intent(inout) :: fft
    real(dp), intent(inout) :: grid(lanes, 2, 0:*)
    integer, intent(in) :: place(0:*)
    logical, intent(in) :: inverse

    call fftw_execute_split_dft(fft%plan, fft%work(fft%first + 1), fft%work(fft%first + 1 + lanes), &
                                fft%work(fft%second + 1), fft%work(fft%second + 1 + lanes))
    call scatter(fft%n, fft%work(fft%second + 1), merge(2, 1, inverse), grid, place)
  end subroutine fft_finish

  !> `re` is the index of the real part in the grid.
  pure subroutine gather(n, grid, place, re, lines)
    integer, intent(in) :: n, place(0:*), re
    real(dp), intent(in) :: grid(lanes, 2, 0:*)
    real(dp), intent(inout) :: lines(lanes, 2, 0:*)
    integer :: j

    do j = 0, n - 1
      lines(:, 1, j) = grid(:, re, place(j))
      lines(:, 2, j) = grid(:, 3 - re, place(j))
    end do
  end subroutine gather

  pure subroutine scatter(n, lines, re, grid, place)
    integer, intent(in) :: n, place(0:*), re
    real(dp), intent(in) :: lines(lanes, 2, 0:*)
    real(dp), intent(inout) :: grid(lanes, 2, 0:*)
    integer :: j

    do j = 0, n - 1
      grid(:, re, place(j)) = lines(:, 1, j)
      grid(:, 3 - re, place(j)) = lines(:, 2, j)
    end do
  end subroutine scatter
end module fft_m
