! SPDX-License-Identifier: Apache-2.0
!> Tests the process grid: the blocks cover the matrix once, and transposed ranks exchange pieces of matching size.
program test_grid
  use, intrinsic :: iso_fortran_env, only: int64
  use cg_grid_m, only: grid_t, place_in_grid
  use cg_matrix_m, only: extent, range_t
  use check_m, only: check, result
  implicit none

  integer, parameter :: orders(4) = [1400, 1401, 7000, 97]
  integer :: i, doublings

  do i = 1, size(orders)
    do doublings = 0, 10
      call check_grid(orders(i), 2**doublings)
    end do
  end do
  ! NASA's grid of 8: 2 rows of 4.
  associate (grid => place_in_grid(1400, 8, 6))
    call check(grid%grid_rows == 2 .and. grid%grid_columns == 4, "8 ranks are 2 x 4")
    call check(grid%rows%first == 701 .and. grid%rows%last == 1400, "rows of rank 6 of 8")
    call check(grid%columns%first == 701 .and. grid%columns%last == 1050, "columns of rank 6 of 8")
    call check(grid%piece%first == 1 .and. grid%piece%last == 350, "piece of rank 6 of 8")
    call check(grid%transposed == 6, "transposed of rank 6 of 8")
  end associate
  associate (grid => place_in_grid(1400, 4, 1))
    call check(grid%transposed == 2, "transposed of rank 1 of 4")
  end associate
  call result()

contains

  subroutine check_grid(n, ranks)
    integer, intent(in) :: n, ranks
    type(grid_t) :: grid, other
    integer(int64) :: area
    integer :: rank

    area = 0
    do rank = 0, ranks - 1
      grid = place_in_grid(n, ranks, rank)
      call check(grid%grid_rows*grid%grid_columns == ranks, "the grid contains all ranks")
      area = area + int(extent(grid%rows), int64)*extent(grid%columns)
      if (grid%grid_column == 0) call check(grid%columns%first == 1, "the first columns start at 1")
      if (grid%grid_row == 0) call check(grid%rows%first == 1, "the first rows start at 1")
      if (grid%grid_column > 0) then
        other = place_in_grid(n, ranks, rank - 1)
        call check(other%columns%last + 1 == grid%columns%first, "columns of neighbours are contiguous")
      end if
      if (grid%grid_row > 0) then
        other = place_in_grid(n, ranks, rank - grid%grid_columns)
        call check(other%rows%last + 1 == grid%rows%first, "rows of neighbours are contiguous")
      end if
      call check(extent(grid%piece) + extent(grid%others) == extent(grid%rows), "piece and others have all rows")

      other = place_in_grid(n, ranks, grid%transposed)
      call check(other%transposed == rank, "transposing twice returns the rank")
      call check(same(shifted(grid%piece, grid%rows%first - 1), other%columns), "piece is the transposed block")
    end do
    call check(area == int(n, int64)*n, "the blocks cover the matrix")
  end subroutine check_grid

  pure type(range_t) function shifted(range, by)
    type(range_t), intent(in) :: range
    integer, intent(in) :: by

    shifted = range_t(range%first + by, range%last + by)
  end function shifted

  pure logical function same(a, b)
    type(range_t), intent(in) :: a, b

    same = a%first == b%first .and. a%last == b%last
  end function same
end program test_grid
