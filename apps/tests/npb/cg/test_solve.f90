! SPDX-License-Identifier: Apache-2.0
!> Compares the solution of a small system with Gaussian elimination.
program test_solve
  use cg_grid_m, only: place_in_grid
  use cg_m, only: make_system, solve, system_t
  use cg_tiles_m, only: multiply
  use check_m, only: check, result
  use npb_m, only: dp
  implicit none

  integer, parameter :: n = 18, nonzeros = 3
  type(system_t), target :: system
  real(dp) :: matrix(n, n), x(n), z(n), exact(n), residual, product(n)
  integer :: i

  ! Without a shift the matrix is positive definite, so n steps suffice.
  call make_system(n, nonzeros, 0.0_dp, place_in_grid(n, 1, 0), .false., system)
  do i = 1, n
    x = 0.0_dp
    x(i) = 1.0_dp
    call multiply(system%matrix, x, matrix(:, i))
  end do
  x = [(real(i, dp), i=1, n)]
  call solve(system, x, z, residual)
  exact = eliminate(matrix, x)
  call check(maxval(abs(z - exact)) <= 1e-9_dp*maxval(abs(exact)), "the solution equals that of elimination")
  call multiply(system%matrix, z, product)
  call check(abs(residual - norm2(x - product)) <= 1e-10_dp, "the returned residual equals that of the solution")
  call check(residual <= 1e-8_dp*norm2(x), "the residual is small")
  call result()

contains

  !> Gaussian elimination without pivoting, because the matrix is positive definite.
  pure function eliminate(matrix, right) result(solution)
    real(dp), intent(in) :: matrix(:, :), right(:)
    real(dp) :: solution(size(right)), a(size(right), size(right)), factor
    integer :: i, j

    a = matrix
    solution = right
    do i = 1, size(right)
      do j = i + 1, size(right)
        factor = a(j, i)/a(i, i)
        a(j, :) = a(j, :) - factor*a(i, :)
        solution(j) = solution(j) - factor*solution(i)
      end do
    end do
    do i = size(right), 1, -1
      solution(i) = (solution(i) - dot_product(a(i, i + 1:), solution(i + 1:)))/a(i, i)
    end do
  end function eliminate
end program test_solve
