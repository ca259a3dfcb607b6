! SPDX-License-Identifier: Apache-2.0
!> NAS CG: the inverse power method. It solves each linear system with 25 steps of conjugate gradients (Bailey et al.,
!> The NAS Parallel Benchmarks, RNR-94-007, kernel CG).
module cg_m
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  use cg_grid_m, only: grid_t, make_grid, phase_norm, phase_rows, phase_solve, phase_total, sum_rows, sum_scalars
  use cg_matrix_m, only: extent, flip_bit, make_rows, rows_t
  use cg_tiles_m, only: make_tiles, multiply, tiles_t
  use comm_m, only: comm_barrier
  use npb_m, only: dp, phase_begin, phase_end, phases_clear
  implicit none
  private
  public :: system_t, make_system, solve

  integer, parameter :: steps = 25

  !> This rank's parts of the matrix and of the vectors of one solution.
  type :: system_t
    type(grid_t) :: grid
    type(tiles_t) :: matrix
    real(dp), allocatable :: p(:), q(:), r(:)
    real(dp), allocatable :: w(:), received(:)  !< products of this and of a received block; empty on one rank
  end type system_t

contains

  !> Runs the benchmark. `comm` is a Fortran handle. A nonzero `fault` perturbs one element of the matrix. Residuals and
  !> zetas have one value per iteration, the same on all ranks.
  subroutine run(n, nonzeros, iterations, shift, ranks, comm, fault, residuals, zetas) bind(c, name="npb_cg_run")
    integer(c_int), value :: n, nonzeros, iterations, ranks, comm, fault
    real(c_double), value :: shift
    real(c_double), intent(out) :: residuals(iterations), zetas(iterations)
    type(system_t), target :: system
    real(dp), allocatable :: x(:), z(:)
    integer :: i

    call make_system(n, nonzeros, shift, make_grid(n, ranks, comm), fault /= 0, system)
    allocate (x(extent(system%grid%columns)), z(extent(system%grid%columns)))

    ! One untimed iteration touches all memory.
    x = 1.0_dp
    call iterate(system, shift, x, z, residuals(1), zetas(1))

    x = 1.0_dp
    call phases_clear()
    call comm_barrier(comm, phase_norm)
    call phases_clear()
    call phase_begin(phase_total)
    do i = 1, iterations
      call iterate(system, shift, x, z, residuals(i), zetas(i))
    end do
    call phase_end(phase_total)
  end subroutine run

  subroutine make_system(n, nonzeros, shift, grid, fault, system)
    integer, intent(in) :: n, nonzeros
    real(dp), intent(in) :: shift
    type(grid_t), intent(in) :: grid
    logical, intent(in) :: fault
    type(system_t), intent(out), target :: system
    type(rows_t) :: part
    integer :: columns, exchanged

    system%grid = grid
    call make_rows(n, nonzeros, shift, grid%rows, grid%columns, part)
    if (fault .and. grid%rank == 0) call flip_bit(part)
    call make_tiles(part, 0, system%matrix)
    columns = extent(grid%columns)
    exchanged = merge(extent(grid%rows), 0, grid%grid_columns > 1)
    allocate (system%p(columns), system%q(columns), system%r(columns), system%w(exchanged), system%received(exchanged))
  end subroutine make_system

  !> Solves A z = x. Returns the estimate zeta of the eigenvalue and replaces x by z scaled to length 1.
  subroutine iterate(system, shift, x, z, residual, zeta)
    type(system_t), intent(inout) :: system
    real(dp), intent(in) :: shift
    real(dp), intent(inout), contiguous :: x(:)
    real(dp), intent(out), contiguous :: z(:)
    real(dp), intent(out) :: residual, zeta
    real(dp) :: products(2)

    call phase_begin(phase_solve)
    call solve(system, x, z, residual)
    call phase_end(phase_solve)
    products = [dot(x, z), dot(z, z)]
    call sum_scalars(system%grid, phase_norm, products)
    zeta = shift + 1.0_dp/products(1)
    x = 1.0_dp/sqrt(products(2))*z
  end subroutine iterate

  !> Runs 25 steps of conjugate gradients from z = 0. `residual` is the length of x - A z.
  subroutine solve(system, x, z, residual)
    type(system_t), intent(inout) :: system
    real(dp), intent(in), contiguous :: x(:)
    real(dp), intent(out), contiguous :: z(:)
    real(dp), intent(out) :: residual
    real(dp) :: rho, next_rho
    integer :: i

    associate (p => system%p, q => system%q, r => system%r)
      z = 0.0_dp
      r = x
      p = x
      rho = total(dot(r, r))
      do i = 1, steps
        call apply(system, p, q)
        associate (alpha => rho/total(dot(p, q)))
          call descend(alpha, q, r, next_rho)
          next_rho = total(next_rho)
          call advance(alpha, next_rho/rho, r, p, z)
        end associate
        rho = next_rho
      end do
      call apply(system, z, r)
      residual = sqrt(total(distance_squared(x, r)))
    end associate

  contains

    real(dp) function total(part)
      real(dp), intent(in) :: part
      real(dp) :: values(1)

      values(1) = part
      call sum_scalars(system%grid, phase_rows, values)
      total = values(1)
    end function total
  end subroutine solve

  !> Computes q = A p.
  subroutine apply(system, p, q)
    type(system_t), intent(inout) :: system
    real(dp), intent(in), contiguous :: p(:)
    real(dp), intent(out), contiguous :: q(:)

    if (system%grid%grid_columns == 1) then
      call multiply(system%matrix, p, q)
    else
      call multiply(system%matrix, p, system%w)
      call sum_rows(system%grid, system%w, system%received, q)
    end if
  end subroutine apply

  pure real(dp) function dot(a, b) result(sum)
    real(dp), intent(in), contiguous :: a(:), b(:)
    integer :: i

    sum = 0.0_dp
    !$omp simd reduction(+:sum)
    do i = 1, size(a)
      sum = sum + a(i)*b(i)
    end do
  end function dot

  pure real(dp) function distance_squared(a, b) result(sum)
    real(dp), intent(in), contiguous :: a(:), b(:)
    integer :: i

    sum = 0.0_dp
    !$omp simd reduction(+:sum)
    do i = 1, size(a)
      sum = sum + (a(i) - b(i))**2
    end do
  end function distance_squared

  !> Updates r = r - alpha q and returns the scalar product of r with itself.
  pure subroutine descend(alpha, q, r, product)
    real(dp), intent(in) :: alpha
    real(dp), intent(in), contiguous :: q(:)
    real(dp), intent(inout), contiguous :: r(:)
    real(dp), intent(out) :: product
    integer :: i

    product = 0.0_dp
    !$omp simd reduction(+:product)
    do i = 1, size(r)
      r(i) = r(i) - alpha*q(i)
      product = product + r(i)*r(i)
    end do
  end subroutine descend

  !> Updates z = z + alpha p, then p = r + beta p, in one pass over p.
  pure subroutine advance(alpha, beta, r, p, z)
    real(dp), intent(in) :: alpha, beta
    real(dp), intent(in), contiguous :: r(:)
    real(dp), intent(inout), contiguous :: p(:), z(:)
    integer :: i

    !$omp simd
    do i = 1, size(p)
      z(i) = z(i) + alpha*p(i)
      p(i) = r(i) + beta*p(i)
    end do
  end subroutine advance
end module cg_m
