! SPDX-License-Identifier: Apache-2.0
!> Assertions for unit tests. A failed assertion prints its description, and the test continues.
module check_m
  use, intrinsic :: iso_fortran_env, only: error_unit
  use npb_m, only: dp
  implicit none
  private
  public :: check, close_to, result

  integer :: failures = 0

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what

    if (holds) return
    write (error_unit, "(2a)") "check failed: ", what
    failures = failures + 1
  end subroutine check

  !> Returns whether all elements differ by at most 1e-12.
  pure logical function close_to(a, b)
    real(dp), intent(in) :: a(:), b(:)

    close_to = size(a) == size(b)
    if (close_to) close_to = all(abs(a - b) <= 1e-12_dp)
  end function close_to

  !> Ends the program, with exit status 1 if an assertion failed.
  subroutine result()
    if (failures > 0) error stop 1
  end subroutine result
end module check_m
