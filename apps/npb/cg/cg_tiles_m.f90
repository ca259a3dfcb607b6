! SPDX-License-Identifier: Apache-2.0
!> The storage format of the matrix for products (SELL-C-sigma; Kreutzer et al., A unified sparse matrix data format,
!> SIAM J. Sci. Comput. 36 (2014) C401). Columns are divided into blocks whose part of the vector stays in the
!> first-level cache, and rows into windows. A tile is the part of a window in one block. In a tile, rows of similar
!> length are the lanes of a SIMD vector, so that no sum combines lanes and little padding is needed.
module cg_tiles_m
  use, intrinsic :: iso_fortran_env, only: int16, int64, int8
  use aligned_m, only: aligned_shift, slack
  use cg_matrix_m, only: rows_t
  use npb_m, only: dp
  implicit none
  private
  public :: tiles_t, make_tiles, multiply

  integer, parameter :: lanes = 8
  integer, parameter :: window_rows = 256      !< rows in a window; int8 stores their distance from its middle
  integer, parameter :: middle = window_rows/2
  integer, parameter :: cached_columns = 2048  !< columns in a block: 16 KiB of the vector
  integer, parameter :: least_in_block = 9     !< smallest average of elements of a row in a block
  integer, parameter :: most_columns = 32768   !< columns in a block at most; int16 stores them from 0

  type :: tiles_t
    integer :: rows, columns, blocks, windows, block_columns
    integer(int64), allocatable :: first_group(:, :)  !< of a tile (window, block); the next tile's marks the end
    integer(int16), allocatable :: steps(:)           !< of a group
    integer(int8), allocatable :: row(:, :)           !< of a lane of a group
    integer(int16), allocatable :: column(:, :)       !< of a lane of a step
    real(dp), allocatable :: storage(:)               !< of a lane of a step, from `aligned`
    integer :: aligned
  end type tiles_t

contains

  !> Converts the matrix to tiles with `width` columns in a block; 0 selects a width.
  subroutine make_tiles(part, width, tiles)
    type(rows_t), intent(in) :: part
    integer, intent(in) :: width
    type(tiles_t), intent(out), target :: tiles
    integer, allocatable :: count(:, :)
    integer(int64) :: groups, steps
    integer(int64), allocatable :: first_step(:, :)
    integer :: block, window

    tiles%rows = part%rows
    tiles%columns = part%columns
    tiles%blocks = block_count(part%rows, part%columns, part%start(part%rows + 1) - 1, width)
    tiles%block_columns = (part%columns + tiles%blocks - 1)/tiles%blocks
    tiles%windows = (part%rows + window_rows - 1)/window_rows
    allocate (count(window_rows, tiles%blocks))
    allocate (tiles%first_group(tiles%windows, tiles%blocks + 1), first_step(tiles%windows, tiles%blocks))

    do window = 1, tiles%windows
      call count_elements(part, window, tiles%block_columns, count)
      do block = 1, tiles%blocks
        call count_groups(count(:, block), tiles%first_group(window, block), first_step(window, block))
      end do
    end do
    groups = 0
    steps = 0
    do block = 1, tiles%blocks
      do window = 1, tiles%windows
        call advance(groups, tiles%first_group(window, block))
        call advance(steps, first_step(window, block))
      end do
    end do
    tiles%first_group(:, tiles%blocks + 1) = groups

    allocate (tiles%steps(groups), tiles%row(lanes, groups), tiles%column(lanes, steps))
    allocate (tiles%storage(lanes*steps + slack))
    tiles%aligned = 1 + aligned_shift(tiles%storage)
    do window = 1, tiles%windows
      call count_elements(part, window, tiles%block_columns, count)
      call fill_window(tiles, part, window, count, first_step(window, :), tiles%storage(tiles%aligned))
    end do
  end subroutine make_tiles

  !> Returns the groups of a tile and the steps of all its groups.
  pure subroutine count_groups(count, groups, steps)
    integer, intent(in) :: count(:)
    integer(int64), intent(out) :: groups, steps
    integer :: order(window_rows), group

    call sort_rows(count, order)
    groups = filled_groups(count, order)
    steps = 0
    do group = 1, int(groups)
      steps = steps + count(order(lanes*(group - 1) + 1))
    end do
  end subroutine count_groups

  !> On entry `at` is the number of elements. Sets `at` to the position of the first element and `next` to the position
  !> after the last one.
  pure subroutine advance(next, at)
    integer(int64), intent(inout) :: next, at
    integer(int64) :: elements

    elements = at
    at = next
    next = next + elements
  end subroutine advance

  pure integer function block_count(rows, columns, elements, width)
    integer, intent(in) :: rows, columns, width
    integer(int64), intent(in) :: elements
    integer :: best
    real(dp) :: row_elements

    best = width
    if (best == 0) then
      row_elements = max(real(elements, dp)/rows, 1.0_dp)
      best = max(cached_columns, int(min(columns*least_in_block/row_elements, real(most_columns, dp))))
    end if
    best = min(best, most_columns)
    block_count = max((columns + best - 1)/best, 1)
  end function block_count

  !> Counts the elements of each row of the window in each block.
  pure subroutine count_elements(part, window, block_columns, count)
    type(rows_t), intent(in) :: part
    integer, intent(in) :: window, block_columns
    integer, intent(out) :: count(:, :)
    integer(int64) :: k
    integer :: row, block

    count = 0
    do row = (window - 1)*window_rows + 1, min(window*window_rows, part%rows)
      do k = part%start(row), part%start(row + 1) - 1
        block = (part%column(k) - 1)/block_columns + 1
        associate (here => count(row - (window - 1)*window_rows, block))
          here = here + 1
        end associate
      end do
    end do
  end subroutine count_elements

  !> Sorts the rows of a tile by length, longest first.
  pure subroutine sort_rows(count, order)
    integer, intent(in) :: count(:)
    integer, intent(out) :: order(:)
    integer :: first(0:maxval(count))
    integer :: row, length, next, rows

    first = 0
    do row = 1, ubound(count, 1)
      first(count(row)) = first(count(row)) + 1
    end do
    next = 1
    do length = ubound(first, 1), 0, -1
      rows = first(length)
      first(length) = next
      next = next + rows
    end do
    do row = 1, ubound(count, 1)
      order(first(count(row))) = row
      first(count(row)) = first(count(row)) + 1
    end do
  end subroutine sort_rows

  !> Counts the groups of a tile that have at least one element.
  pure integer function filled_groups(count, order)
    integer, intent(in) :: count(:), order(:)

    filled_groups = (findloc(count(order) > 0, .true., dim=1, back=.true.) + lanes - 1)/lanes
  end function filled_groups

  !> Fills the tiles of a window, whose rows have `count` elements in each block.
  subroutine fill_window(tiles, part, window, count, first_step, values)
    type(tiles_t), intent(inout) :: tiles
    type(rows_t), intent(in) :: part
    integer, intent(in) :: window, count(:, :)
    integer(int64), intent(in) :: first_step(:)
    real(dp), intent(inout) :: values(lanes, 0:*)
    integer :: lane_of(window_rows, tiles%blocks)
    integer(int64) :: next_step(window_rows, tiles%blocks)
    integer(int64) :: step, k
    integer :: block, local, lane, row, base

    do block = 1, tiles%blocks
      call arrange_tile(tiles, window, block, count(:, block), first_step(block), values, lane_of(:, block), &
                        next_step(:, block))
    end do
    base = (window - 1)*window_rows
    do row = base + 1, min(base + window_rows, part%rows)
      local = row - base
      do k = part%start(row), part%start(row + 1) - 1
        block = (part%column(k) - 1)/tiles%block_columns + 1
        lane = lane_of(local, block)
        step = next_step(local, block)
        next_step(local, block) = step + 1
        tiles%column(lane, step + 1) = int(part%column(k) - 1 - (block - 1)*tiles%block_columns, int16)
        values(lane, step) = part%value(k)
      end do
    end do
  end subroutine fill_window

  !> Assigns the rows of a tile to groups and lanes, and fills the tile with zeros. Returns the lane and the first step
  !> of each row.
  subroutine arrange_tile(tiles, window, block, count, first_step, values, lane_of, next_step)
    type(tiles_t), intent(inout) :: tiles
    integer, intent(in) :: window, block, count(:)
    integer(int64), intent(in) :: first_step
    real(dp), intent(inout) :: values(lanes, 0:*)
    integer, intent(inout) :: lane_of(:)
    integer(int64), intent(inout) :: next_step(:)
    integer :: order(window_rows), lane, row, place
    integer(int64) :: group, step

    call sort_rows(count, order)
    step = first_step
    group = tiles%first_group(window, block)
    do place = 1, lanes*filled_groups(count, order), lanes
      group = group + 1
      tiles%steps(group) = int(count(order(place)), int16)
      do lane = 1, lanes
        row = order(place + lane - 1)
        ! A lane without a row adds zero to the first row of its group.
        if ((window - 1)*window_rows + row > tiles%rows) row = order(place)
        tiles%row(lane, group) = int(row - 1 - middle, int8)
        lane_of(order(place + lane - 1)) = lane
        next_step(order(place + lane - 1)) = step
      end do
      tiles%column(:, step + 1:step + tiles%steps(group)) = 0
      values(:, step:step + tiles%steps(group) - 1) = 0.0_dp
      step = step + tiles%steps(group)
    end do
  end subroutine arrange_tile

  !> Computes w = A p.
  subroutine multiply(tiles, p, w)
    type(tiles_t), intent(in) :: tiles
    real(dp), intent(in) :: p(tiles%columns)
    real(dp), intent(out) :: w(tiles%rows)
    integer(int64) :: group, groups, step
    integer :: block, window

    w = 0.0_dp
    step = 0
    do block = 1, tiles%blocks
      do window = 1, tiles%windows
        group = tiles%first_group(window, block)
        if (window < tiles%windows) then
          groups = tiles%first_group(window + 1, block) - group
        else
          groups = tiles%first_group(1, block + 1) - group
        end if
        if (groups == 0) cycle
        call multiply_tile(groups, tiles%steps(group + 1), tiles%row(1, group + 1), step, tiles%column, &
                           tiles%storage(tiles%aligned), p((block - 1)*tiles%block_columns + 1), &
                           w((window - 1)*window_rows + 1))
      end do
    end do
  end subroutine multiply

  !> Uses one scalar per lane: GCC combines the scalars into vectors and loads each element of p separately. With an
  !> array of lanes GCC extracts the column numbers from a vector or uses gather instructions, which was 20 to 50 %
  !> slower (GCC 12, Zen 5).
  pure subroutine multiply_tile(groups, steps, row, step, column, value, p, w)
    integer(int64), intent(in) :: groups
    integer(int16), intent(in) :: steps(groups)
    integer(int8), intent(in) :: row(lanes, groups)
    integer(int64), intent(inout) :: step
    integer(int16), intent(in) :: column(lanes, 0:*)
    real(dp), intent(in) :: value(lanes, 0:*), p(0:*)
    real(dp), intent(inout) :: w(-middle:*)
    real(dp) :: w1, w2, w3, w4, w5, w6, w7, w8
    integer(int64) :: group, k, end_step

    k = step
    do group = 1, groups
      end_step = k + steps(group)
      w1 = 0.0_dp
      w2 = 0.0_dp
      w3 = 0.0_dp
      w4 = 0.0_dp
      w5 = 0.0_dp
      w6 = 0.0_dp
      w7 = 0.0_dp
      w8 = 0.0_dp
      do while (k < end_step)
        w1 = w1 + value(1, k)*p(int(column(1, k), int64))
        w2 = w2 + value(2, k)*p(int(column(2, k), int64))
        w3 = w3 + value(3, k)*p(int(column(3, k), int64))
        w4 = w4 + value(4, k)*p(int(column(4, k), int64))
        w5 = w5 + value(5, k)*p(int(column(5, k), int64))
        w6 = w6 + value(6, k)*p(int(column(6, k), int64))
        w7 = w7 + value(7, k)*p(int(column(7, k), int64))
        w8 = w8 + value(8, k)*p(int(column(8, k), int64))
        k = k + 1
      end do
      w(row(1, group)) = w(row(1, group)) + w1
      w(row(2, group)) = w(row(2, group)) + w2
      w(row(3, group)) = w(row(3, group)) + w3
      w(row(4, group)) = w(row(4, group)) + w4
      w(row(5, group)) = w(row(5, group)) + w5
      w(row(6, group)) = w(row(6, group)) + w6
      w(row(7, group)) = w(row(7, group)) + w7
      w(row(8, group)) = w(row(8, group)) + w8
    end do
    step = k
  end subroutine multiply_tile
end module cg_tiles_m
