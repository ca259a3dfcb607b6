! SPDX-License-Identifier: Apache-2.0
!> Compares the transforms of fft_m with closed forms, for every length that a class uses.
program test_fft
  use, intrinsic :: iso_fortran_env, only: error_unit
  use fft_m, only: fft_begin, fft_finish, fft_init, fft_t, lanes
  use npb_m, only: dp
  implicit none

  real(dp), parameter :: pi = acos(-1.0_dp), tolerance = 1.0e-14_dp
  integer :: failures = 0, log_n

  do log_n = 4, 11
    call test_length(2**log_n)
  end do
  if (failures > 0) error stop 1

contains

  subroutine test_length(n)
    integer, intent(in) :: n
    type(fft_t) :: fft
    complex(dp) :: x(0:n - 1, lanes), y(0:n - 1, lanes), expected(0:n - 1)
    integer :: lane, j, k

    call fft_init(fft, n)
    call check(fft%n == n, "length", n)

    ! Lane l holds a delta at element l, whose transform is exp(-2 pi i k l / n).
    x = 0.0_dp
    do lane = 1, lanes
      x(lane, lane) = 1.0_dp
    end do
    y = transformed(fft, x, .false.)
    do lane = 1, lanes
      expected = [(root(n, k * lane), k=0, n - 1)]
      call check(largest(y(:, lane) - expected) < tolerance, "delta", n)
    end do

    ! Lane l holds one Fourier mode, whose transform is n at its frequency and 0 elsewhere.
    do lane = 1, lanes
      x(:, lane) = [(conjg(root(n, j * frequency(n, lane))), j=0, n - 1)]
    end do
    y = transformed(fft, x, .false.)
    do lane = 1, lanes
      expected = 0.0_dp
      expected(frequency(n, lane)) = n
      call check(largest(y(:, lane) - expected) < n * tolerance, "mode", n)
    end do

    ! Random input: Parseval's theorem holds, and the inverse transform returns the input.
    do lane = 1, lanes
      x(:, lane) = [(cmplx(sin(1.7_dp * j + lane), cos(0.3_dp * j * lane), dp), j=0, n - 1)]
    end do
    y = transformed(fft, x, .false.)
    do lane = 1, lanes
      call check(abs(energy(y(:, lane)) / (n * energy(x(:, lane))) - 1.0_dp) < tolerance, "Parseval", n)
    end do
    y = transformed(fft, y, .true.) / n
    call check(largest(reshape(y - x, [n * lanes])) < tolerance, "inverse", n)
  end subroutine test_length

  integer function frequency(n, lane)
    integer, intent(in) :: n, lane

    frequency = modulo(n / 3 * lane + lane, n)
  end function frequency

  !> Returns exp(-2 pi i k / n), with k reduced modulo n first.
  complex(dp) function root(n, k)
    integer, intent(in) :: n, k

    root = exp(cmplx(0.0_dp, -2 * pi * modulo(k, n) / n, dp))
  end function root

  !> Returns the transform of x. It is read from and written to non-contiguous chunks of the same grid.
  function transformed(fft, x, inverse) result(y)
    type(fft_t), intent(inout) :: fft
    complex(dp), intent(in) :: x(0:, :)
    logical, intent(in) :: inverse
    complex(dp) :: y(0:size(x, 1) - 1, lanes)
    real(dp) :: grid(lanes, 2, 0:size(x, 1))
    integer :: from(0:size(x, 1) - 1), to(0:size(x, 1) - 1)
    integer :: n, j

    n = size(x, 1)
    from = [(modulo(5 * j, n), j=0, n - 1)]
    to = [(modulo(3 * j + 1, n), j=0, n - 1)]
    grid = 7.0_dp
    do j = 0, n - 1
      grid(:, 1, from(j)) = real(x(j, :))
      grid(:, 2, from(j)) = aimag(x(j, :))
    end do
    call fft_begin(fft, grid, from, inverse)
    call fft_finish(fft, grid, to, inverse)
    do j = 0, n - 1
      y(j, :) = cmplx(grid(:, 1, to(j)), grid(:, 2, to(j)), dp)
    end do
    call check(all(abs(grid(:, :, n) - 7.0_dp) <= 0), "chunk beyond the line is unchanged", n)
  end function transformed

  real(dp) function largest(x)
    complex(dp), intent(in) :: x(:)

    largest = maxval(abs(x))
  end function largest

  real(dp) function energy(x)
    complex(dp), intent(in) :: x(:)

    energy = sum(real(x)**2 + aimag(x)**2)
  end function energy

  subroutine check(holds, what, n)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    integer, intent(in) :: n

    if (holds) return
    write (error_unit, "(a, a, a, i0)") "check failed: ", what, ", length ", n
    failures = failures + 1
  end subroutine check
end program test_fft
