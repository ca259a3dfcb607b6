! SPDX-License-Identifier: Apache-2.0
!> The driver's interface for Fortran kernels: phases (driver/phases.hpp) and NASA's generator (driver/random.hpp).
module npb_m
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int64_t
  implicit none
  private
  public :: dp, phase_begin, phase_end, phases_clear, random_next, random_power, random_fill

  integer, parameter :: dp = c_double

  interface
    subroutine phase_begin(phase) bind(c, name="npb_phase_begin")
      import :: c_int
      implicit none
      integer(c_int), value :: phase
    end subroutine phase_begin

    subroutine phase_end(phase) bind(c, name="npb_phase_end")
      import :: c_int
      implicit none
      integer(c_int), value :: phase
    end subroutine phase_end

    subroutine phases_clear() bind(c, name="npb_phases_clear")
      implicit none
    end subroutine phases_clear

    !> Advances the state and returns the next number, in (0, 1).
    function random_next(state, a) result(number) bind(c, name="npb_random_next")
      import :: c_double, c_int64_t
      implicit none
      integer(c_int64_t), intent(inout) :: state
      integer(c_int64_t), value :: a
      real(c_double) :: number
    end function random_next

    !> Returns a**n mod 2**46, the factor that advances the state by n numbers.
    function random_power(a, n) result(power) bind(c, name="npb_random_power")
      import :: c_int64_t
      implicit none
      integer(c_int64_t), value :: a, n
      integer(c_int64_t) :: power
    end function random_power

    !> Returns the next n numbers.
    subroutine random_fill(n, state, a, values) bind(c, name="npb_random_fill")
      import :: c_double, c_int64_t
      implicit none
      integer(c_int64_t), value :: n
      integer(c_int64_t), intent(inout) :: state
      integer(c_int64_t), value :: a
      real(c_double), intent(out) :: values(*)
    end subroutine random_fill
  end interface
end module npb_m
