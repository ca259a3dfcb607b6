! SPDX-License-Identifier: Apache-2.0
!> Arrays that start at a cache line: allocate `slack` additional elements, and skip the first aligned_shift elements.
module aligned_m
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc
  use npb_m, only: dp
  implicit none
  private
  public :: aligned_shift, slack

  integer, parameter :: cache_line_bytes = 64, real_bytes = 8
  integer, parameter :: slack = cache_line_bytes / real_bytes

contains

  !> Returns the number of elements before the first element that starts a cache line.
  integer function aligned_shift(store) result(shift)
    real(dp), intent(in), target, contiguous :: store(:)
    integer(c_intptr_t) :: past

    past = modulo(transfer(c_loc(store(1)), past), int(cache_line_bytes, c_intptr_t))
    shift = int(modulo(cache_line_bytes - past, int(cache_line_bytes, c_intptr_t))) / real_bytes
  end function aligned_shift
end module aligned_m
