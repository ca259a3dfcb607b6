! SPDX-License-Identifier: Apache-2.0
!> The matrix of NAS CG: the sum over i of size(i) v(i) v(i)^T, where v(i) are sparse random vectors, plus a shift of
!> the diagonal (Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, kernel CG).
module cg_matrix_m
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use npb_m, only: dp, random_next
  implicit none
  private
  public :: rows_t, range_t, extent, make_rows, flip_bit

  !> The indices from first to last; indices start at 1.
  type :: range_t
    integer :: first, last
  end type range_t

  !> A part of the matrix in compressed sparse rows. Row i has the elements start(i) to start(i + 1) - 1, each in a
  !> different column. Row and column numbers start at 1 within the part.
  type :: rows_t
    integer :: rows, columns
    integer(int64), allocatable :: start(:)
    integer(int32), allocatable :: column(:)
    real(dp), allocatable :: value(:)
  end type rows_t

  integer(c_int64_t), parameter :: multiplier = 1220703125_c_int64_t, seed = 314159265_c_int64_t
  real(dp), parameter :: smallest_size = 0.1_dp, diagonal = 0.5_dp

contains

  pure integer function extent(range)
    type(range_t), intent(in) :: range

    extent = range%last - range%first + 1
  end function extent

  !> Generates the part of the matrix of order n in these rows and columns. Every rank generates all vectors twice,
  !> first to count the elements and then to store them. This avoids a list of the products in addition to the rows.
  subroutine make_rows(n, nonzeros, shift, row_range, column_range, part)
    integer, intent(in) :: n, nonzeros
    real(dp), intent(in) :: shift
    type(range_t), intent(in) :: row_range, column_range
    type(rows_t), intent(out) :: part
    integer(int64) :: next, count
    integer :: row

    part%rows = extent(row_range)
    part%columns = extent(column_range)
    allocate (part%start(part%rows + 1), source=0_int64)
    allocate (part%column(0), part%value(0))
    call add_products(n, nonzeros, shift, row_range, column_range, part, store=.false.)
    next = 1
    do row = 1, part%rows
      count = part%start(row)
      part%start(row) = next
      next = next + count
    end do
    deallocate (part%column, part%value)
    allocate (part%column(next - 1), part%value(next - 1))
    call add_products(n, nonzeros, shift, row_range, column_range, part, store=.true.)

    ! Now start(i) is the end of row i.
    part%start(2:) = part%start(:part%rows)
    part%start(1) = 1
    call merge_columns(part)
  end subroutine make_rows

  !> Processes the outer products and the diagonal: either adds the number of elements of each row to its start, or
  !> stores the elements there.
  subroutine add_products(n, nonzeros, shift, row_range, column_range, part, store)
    integer, intent(in) :: n, nonzeros
    real(dp), intent(in) :: shift
    type(range_t), intent(in) :: row_range, column_range
    type(rows_t), intent(inout) :: part
    logical, intent(in) :: store
    integer :: place(nonzeros + 1)
    real(dp) :: element(nonzeros + 1)
    real(dp) :: size, ratio, unused
    integer(c_int64_t) :: state
    integer :: i, length

    state = seed
    unused = random_next(state, multiplier)
    size = 1.0_dp
    ratio = smallest_size**(1.0_dp/real(n, dp))
    do i = 1, n
      call draw_vector(n, nonzeros, i, state, place, element, length)
      call add_product(size, place(:length), element(:length), row_range, column_range, part, store)
      size = size*ratio
    end do
    do i = max(row_range%first, column_range%first), min(row_range%last, column_range%last)
      call add(part, store, i - row_range%first + 1, [i - column_range%first + 1], [smallest_size - shift])
    end do
  end subroutine add_products

  !> Processes the outer product of one vector with itself times `size`. The vector has the values `element` at the
  !> positions `place`.
  subroutine add_product(size, place, element, row_range, column_range, part, store)
    real(dp), intent(in) :: size
    integer, intent(in) :: place(:)
    real(dp), intent(in) :: element(:)
    type(range_t), intent(in) :: row_range, column_range
    type(rows_t), intent(inout) :: part
    logical, intent(in) :: store
    integer :: here(ubound(place, 1))
    real(dp) :: value(ubound(place, 1))
    integer :: k, entries

    entries = 0
    do k = 1, ubound(place, 1)
      if (place(k) < column_range%first .or. place(k) > column_range%last) cycle
      entries = entries + 1
      here(entries) = place(k) - column_range%first + 1
      value(entries) = size*element(k)
    end do
    if (entries == 0) return
    do k = 1, ubound(place, 1)
      if (place(k) < row_range%first .or. place(k) > row_range%last) cycle
      call add(part, store, place(k) - row_range%first + 1, here(:entries), element(k)*value(:entries))
    end do
  end subroutine add_product

  !> Counts elements of a row, or stores them at the row's start and advances the start.
  subroutine add(part, store, row, columns, values)
    type(rows_t), intent(inout) :: part
    logical, intent(in) :: store
    integer, intent(in) :: row, columns(:)
    real(dp), intent(in) :: values(:)
    integer(int64) :: first, next

    first = part%start(row)
    next = first + ubound(columns, 1)
    if (store) then
      part%column(first:next - 1) = columns
      part%value(first:next - 1) = values
    end if
    part%start(row) = next
  end subroutine add

  !> Generates the i-th random vector: `nonzeros` random elements at random positions, and 1/2 at position i.
  subroutine draw_vector(n, nonzeros, i, state, place, element, length)
    integer, intent(in) :: n, nonzeros, i
    integer(c_int64_t), intent(inout) :: state
    integer, intent(inout) :: place(:)
    real(dp), intent(inout) :: element(:)
    integer, intent(out) :: length
    real(dp) :: power_of_two, number
    integer :: at

    power_of_two = 2.0_dp
    do while (power_of_two < n)
      power_of_two = 2.0_dp*power_of_two
    end do
    length = 0
    do while (length < nonzeros)
      number = random_next(state, multiplier)
      at = int(power_of_two*random_next(state, multiplier)) + 1
      if (at > n) cycle
      if (any(place(:length) == at)) cycle
      length = length + 1
      place(length) = at
      element(length) = number
    end do
    at = findloc(place(:length), i, dim=1)
    if (at == 0) then
      length = length + 1
      at = length
      place(at) = i
    end if
    element(at) = diagonal
  end subroutine draw_vector

  !> Sums the elements of a row that are in the same column, in the order of their generation.
  subroutine merge_columns(part)
    type(rows_t), intent(inout) :: part
    integer(int64), allocatable :: merged(:)
    integer(int64) :: k, first, next
    integer :: row, column

    allocate (merged(part%columns), source=0_int64)
    next = 1
    do row = 1, part%rows
      first = next
      do k = part%start(row), part%start(row + 1) - 1
        column = part%column(k)
        if (merged(column) < first) then
          merged(column) = next
          part%column(next) = column
          part%value(next) = part%value(k)
          next = next + 1
        else
          part%value(merged(column)) = part%value(merged(column)) + part%value(k)
        end if
      end do
      part%start(row) = first
    end do
    part%start(part%rows + 1) = next
  end subroutine merge_columns

  !> Flips a bit in the exponent of the element in the first row and column, if it exists. This halves or doubles it.
  subroutine flip_bit(part)
    type(rows_t), intent(inout) :: part
    integer, parameter :: lowest_of_exponent = 52
    integer(int64) :: k

    do k = part%start(1), part%start(2) - 1
      if (part%column(k) /= 1) cycle
      part%value(k) = transfer(ieor(transfer(part%value(k), 0_int64), ibset(0_int64, lowest_of_exponent)), 0.0_dp)
    end do
  end subroutine flip_bit
end module cg_matrix_m
