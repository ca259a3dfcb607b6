! SPDX-License-Identifier: Apache-2.0
!> The process grid of NAS CG and its exchanges. A rank holds the elements in one block of rows and one block of columns
!> of the matrix. Of each vector it holds the part for its columns, so the ranks of a grid column hold the same part.
!> The grid has as many columns as rows, or twice as many. With twice as many, a block of columns is half a block of
!> rows.
module cg_grid_m
  use, intrinsic :: iso_c_binding, only: c_int
  use cg_matrix_m, only: extent, range_t
  use comm_m, only: comm_exchange, comm_rank, comm_swap
  use npb_m, only: dp, phase_begin, phase_end
  implicit none
  private
  public :: grid_t, make_grid, place_in_grid, sum_scalars, sum_rows
  public :: phase_total, phase_solve, phase_rows, phase_norm

  !> Indices in Kernel::phases. phase_solve excludes the communication within the solver, which phase_rows includes.
  integer(c_int), parameter :: phase_total = 0, phase_solve = 1, phase_rows = 2, phase_norm = 3

  type :: grid_t
    integer :: comm, rank
    integer :: grid_rows, grid_columns, grid_row, grid_column
    integer :: transposed             !< rank whose rows are this block's columns
    type(range_t) :: rows, columns    !< of the matrix
    type(range_t) :: piece, others    !< rows summed for the transposed rank, and the other rows; from 1
  end type grid_t

contains

  !> Returns the grid of `ranks` ranks (a power of two) and the position of this rank.
  type(grid_t) function make_grid(n, ranks, comm) result(grid)
    integer, intent(in) :: n, ranks, comm

    grid = place_in_grid(n, ranks, comm_rank(comm))
    grid%comm = comm
  end function make_grid

  pure type(grid_t) function place_in_grid(n, ranks, rank) result(grid)
    integer, intent(in) :: n, ranks, rank
    integer :: doublings

    doublings = trailz(ranks)
    grid%comm = -1
    grid%rank = rank
    grid%grid_rows = 2**(doublings/2)
    grid%grid_columns = ranks/grid%grid_rows
    grid%grid_row = rank/grid%grid_columns
    grid%grid_column = modulo(rank, grid%grid_columns)
    grid%rows = block_of(n, grid%grid_rows, grid%grid_row)
    if (grid%grid_columns == grid%grid_rows) then
      grid%columns = block_of(n, grid%grid_rows, grid%grid_column)
      grid%piece = range_t(1, extent(grid%rows))
      grid%others = range_t(1, 0)
      grid%transposed = grid%grid_column*grid%grid_columns + grid%grid_row
    else
      associate (row_block => grid%grid_column/2, half => modulo(grid%grid_column, 2))
        grid%columns = half_of(block_of(n, grid%grid_rows, row_block), half)
        grid%piece = half_of(range_t(1, extent(grid%rows)), half)
        grid%others = half_of(range_t(1, extent(grid%rows)), 1 - half)
        grid%transposed = row_block*grid%grid_columns + 2*grid%grid_row + half
      end associate
    end if
  end function place_in_grid

  !> Returns the rows or columns of one block. The first blocks are one larger if the division has a remainder.
  pure type(range_t) function block_of(n, blocks, block) result(range)
    integer, intent(in) :: n, blocks, block

    range%first = block*(n/blocks) + min(block, modulo(n, blocks)) + 1
    range%last = (block + 1)*(n/blocks) + min(block + 1, modulo(n, blocks))
  end function block_of

  pure type(range_t) function half_of(whole, half) result(range)
    type(range_t), intent(in) :: whole
    integer, intent(in) :: half
    integer :: last_of_first

    last_of_first = whole%first + (extent(whole) + 1)/2 - 1
    if (half == 0) then
      range = range_t(whole%first, last_of_first)
    else
      range = range_t(last_of_first + 1, whole%last)
    end if
  end function half_of

  !> Sums over a row of the grid. Sums pairwise, so that all rows get bitwise identical results.
  subroutine sum_scalars(grid, phase, values)
    type(grid_t), intent(in) :: grid
    integer(c_int), intent(in) :: phase
    real(dp), intent(inout) :: values(:)
    real(dp) :: received(size(values))
    integer :: distance

    if (grid%grid_columns == 1) return
    call pause_solve(phase)
    distance = grid%grid_columns/2
    do while (distance > 0)
      call comm_exchange(values, received, size(values), neighbour(grid, distance), grid%comm, phase)
      values = values + received
      distance = distance/2
    end do
    call resume_solve(phase)
  end subroutine sum_scalars

  !> Computes this rank's part q of the matrix product from w, the product of this rank's block: sums w over the grid
  !> row and exchanges the sum with the transposed rank. Overwrites w. `received` has the size of w.
  subroutine sum_rows(grid, w, received, q)
    type(grid_t), intent(in) :: grid
    real(dp), intent(inout), contiguous :: w(:), received(:)
    real(dp), intent(out), contiguous :: q(:)
    integer :: distance, count

    count = extent(grid%piece)
    call phase_end(phase_solve)
    distance = 1
    if (extent(grid%others) > 0) then
      ! Two ranks hold the same rows and need different halves of them.
      call comm_swap(w(grid%others%first:), extent(grid%others), received, count, neighbour(grid, distance), &
                     grid%comm, phase_rows)
      call add(received(:count))
      distance = 2
    end if
    do while (distance < grid%grid_columns)
      call comm_swap(w(grid%piece%first:), count, received, count, neighbour(grid, distance), grid%comm, phase_rows)
      call add(received(:count))
      distance = 2*distance
    end do
    ! A rank on the grid's diagonal exchanges with itself, as in NASA's program.
    call comm_swap(w(grid%piece%first:), count, q, size(q), grid%transposed, grid%comm, phase_rows)
    call phase_begin(phase_solve)

  contains

    subroutine add(values)
      real(dp), intent(in) :: values(:)

      w(grid%piece%first:grid%piece%last) = w(grid%piece%first:grid%piece%last) + values
    end subroutine add
  end subroutine sum_rows

  pure integer function neighbour(grid, distance)
    type(grid_t), intent(in) :: grid
    integer, intent(in) :: distance

    neighbour = grid%grid_row*grid%grid_columns + ieor(grid%grid_column, distance)
  end function neighbour

  subroutine pause_solve(phase)
    integer(c_int), intent(in) :: phase

    if (phase == phase_rows) call phase_end(phase_solve)
  end subroutine pause_solve

  subroutine resume_solve(phase)
    integer(c_int), intent(in) :: phase

    if (phase == phase_rows) call phase_begin(phase_solve)
  end subroutine resume_solve
end module cg_grid_m
