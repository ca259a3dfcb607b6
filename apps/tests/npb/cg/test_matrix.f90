! SPDX-License-Identifier: Apache-2.0
!> Compares the sparse matrix with the dense sum of outer products, and its product with the dense product.
program test_matrix
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use, intrinsic :: iso_fortran_env, only: int64
  use cg_grid_m, only: grid_t, place_in_grid
  use cg_matrix_m, only: extent, flip_bit, make_rows, range_t, rows_t
  use cg_tiles_m, only: make_tiles, multiply, tiles_t
  use check_m, only: check, close_to, result
  use npb_m, only: dp, random_next
  implicit none

  integer, parameter :: n = 41, nonzeros = 5
  real(dp), parameter :: shift = 3.0_dp
  real(dp) :: matrix(n, n)

  matrix = dense_sum()
  call check_matrix()
  call check_parts()
  call check_product(600, 50, 0.1_dp)
  call check_product(256, 300, 0.5_dp)
  call check_product(3, 1, 1.0_dp)
  call check_product(20, 40, 0.0_dp)
  call check_flip()
  call result()

contains

  !> Returns the matrix computed from its definition with dense vectors.
  function dense_sum() result(sum)
    real(dp) :: sum(n, n), vector(n), number
    integer(c_int64_t) :: state
    integer :: i, j, at, drawn

    state = 314159265_c_int64_t
    number = random_next(state, 1220703125_c_int64_t)
    sum = 0.0_dp
    do i = 1, n
      vector = 0.0_dp
      drawn = 0
      do while (drawn < nonzeros)
        number = random_next(state, 1220703125_c_int64_t)
        at = 1 + int(64*random_next(state, 1220703125_c_int64_t))
        if (at > n) cycle
        if (vector(at) > 0.0_dp) cycle
        vector(at) = number
        drawn = drawn + 1
      end do
      vector(i) = 0.5_dp
      do j = 1, n
        sum(:, j) = sum(:, j) + 0.1_dp**(real(i - 1, dp)/n)*vector*vector(j)
      end do
    end do
    do i = 1, n
      sum(i, i) = sum(i, i) + 0.1_dp - shift
    end do
  end function dense_sum

  function dense(part) result(full)
    type(rows_t), intent(in) :: part
    real(dp) :: full(part%rows, part%columns)
    integer(int64) :: k
    integer :: row

    full = 0.0_dp
    do row = 1, part%rows
      do k = part%start(row), part%start(row + 1) - 1
        call check(full(row, part%column(k)) == 0.0_dp, "a column occurs once in a row")
        full(row, part%column(k)) = part%value(k)
      end do
    end do
  end function dense

  subroutine check_matrix()
    type(rows_t) :: part
    type(tiles_t), target :: tiles
    real(dp) :: full(n, n), factor(n, n), sums(n), ones(n)
    integer :: i, j
    logical :: positive

    call make_rows(n, nonzeros, shift, range_t(1, n), range_t(1, n), part)
    full = dense(part)
    call check(close_to(reshape(full, [n*n]), reshape(matrix, [n*n])), "the matrix is the sum of outer products")
    call check(close_to(reshape(full, [n*n]), reshape(transpose(full), [n*n])), "the matrix is symmetric")

    ! The sum of outer products is positive semidefinite, so adding 0.1 to the diagonal makes a Cholesky factor exist.
    factor = full
    do i = 1, n
      factor(i, i) = factor(i, i) + shift
    end do
    positive = .true.
    do j = 1, n
      factor(j, j) = factor(j, j) - dot_product(factor(j, :j - 1), factor(j, :j - 1))
      positive = positive .and. factor(j, j) >= 0.1_dp*(1.0_dp - 1e-12_dp)
      if (.not. positive) exit
      factor(j, j) = sqrt(factor(j, j))
      do i = j + 1, n
        factor(i, j) = (factor(i, j) - dot_product(factor(i, :j - 1), factor(j, :j - 1)))/factor(j, j)
      end do
    end do
    call check(positive, "without the shift the matrix is positive definite")

    call make_tiles(part, 0, tiles)
    ones = 1.0_dp
    call multiply(tiles, ones, sums)
    call check(close_to(sums, sum(matrix, dim=2)), "the product with a vector of ones equals the row sums")
  end subroutine check_matrix

  !> Checks that the parts of all ranks form the matrix.
  subroutine check_parts()
    type(grid_t) :: grid
    type(rows_t) :: part
    integer :: doublings, rank

    do doublings = 0, 5
      do rank = 0, 2**doublings - 1
        grid = place_in_grid(n, 2**doublings, rank)
        call make_rows(n, nonzeros, shift, grid%rows, grid%columns, part)
        associate (rows => grid%rows, columns => grid%columns)
          call check(close_to(reshape(dense(part), [part%rows*part%columns]), &
                              reshape(matrix(rows%first:rows%last, columns%first:columns%last), &
                                      [extent(rows)*extent(columns)])), "a rank's part equals that part of the matrix")
        end associate
      end do
    end do
  end subroutine check_parts

  !> Checks the product of a random matrix with this share of nonzero elements, stored in blocks of several widths.
  subroutine check_product(rows, columns, share)
    integer, intent(in) :: rows, columns
    real(dp), intent(in) :: share
    integer, parameter :: widths(5) = [0, 1, 7, 32, 1000]
    type(rows_t) :: part
    type(tiles_t), target :: tiles
    real(dp), allocatable :: full(:, :), p(:), w(:)
    integer(c_int64_t) :: state
    integer(int64) :: k
    integer :: i, row, column

    allocate (full(rows, columns), p(columns), w(rows), source=0.0_dp)
    state = 271828183_c_int64_t
    do row = 1, rows
      do column = 1, columns
        if (random_next(state, 1220703125_c_int64_t) < share) then
          full(row, column) = random_next(state, 1220703125_c_int64_t) - 0.5_dp
        end if
      end do
    end do
    do column = 1, columns
      p(column) = random_next(state, 1220703125_c_int64_t)
    end do
    part%rows = rows
    part%columns = columns
    allocate (part%start(rows + 1), part%column(count(full /= 0.0_dp)), part%value(count(full /= 0.0_dp)))
    k = 1
    do row = 1, rows
      part%start(row) = k
      do column = columns, 1, -1
        if (full(row, column) == 0.0_dp) cycle
        part%column(k) = column
        part%value(k) = full(row, column)
        k = k + 1
      end do
    end do
    part%start(rows + 1) = k
    do i = 1, size(widths)
      call make_tiles(part, widths(i), tiles)
      w = huge(w)
      call multiply(tiles, p, w)
      call check(close_to(w, matmul(full, p)), "the product equals the dense product")
    end do
  end subroutine check_product

  subroutine check_flip()
    type(rows_t) :: part
    real(dp), allocatable :: before(:)

    call make_rows(n, nonzeros, shift, range_t(1, n), range_t(1, n), part)
    allocate (before, source=part%value)
    call flip_bit(part)
    call check(count(part%value /= before) == 1, "a flipped bit changes one element")
    associate (ratio => sum(part%value/before) - size(before))
      call check(abs(ratio - 1.0_dp) < 1e-9_dp .or. abs(ratio + 0.5_dp) < 1e-9_dp, "the element doubles or halves")
    end associate
  end subroutine check_flip
end program test_matrix
