! SPDX-License-Identifier: Apache-2.0
!> Transposes chunks (fft_m): n chunks of n rows become n chunks of n elements, and back.
!>
!> The eight lanes of a chunk are an array (inner, n, 8 / inner / n). Lane (a, j, b) of the chunk of element i is lane
!> (a, i, b) of the chunk of row j. With n = 8 and inner = 1 this is the transposition of an 8 by 8 matrix.
module turn_m
  use fft_m, only: lanes
  use npb_m, only: dp
  implicit none
  private
  public :: turn_from_rows, turn_to_rows

contains

  !> Transposes the rows in chunks at(:) into n neighbouring chunks of elements.
  pure subroutine turn_from_rows(n, inner, rows, at, elements)
    integer, intent(in) :: n, inner, at(0:*)
    real(dp), intent(in) :: rows(lanes, 2, 0:*)
    real(dp), intent(inout) :: elements(lanes, 2, 0:*)

    if (n == lanes) then
      call eight_from_rows(rows, at, elements)
    else
      call part_from_rows(n, inner, lanes / inner / n, rows, at, elements)
    end if
  end subroutine turn_from_rows

  !> Transposes n neighbouring chunks of elements into rows in chunks at(:).
  pure subroutine turn_to_rows(n, inner, elements, rows, at)
    integer, intent(in) :: n, inner, at(0:*)
    real(dp), intent(in) :: elements(lanes, 2, 0:*)
    real(dp), intent(inout) :: rows(lanes, 2, 0:*)

    if (n == lanes) then
      call eight_to_rows(elements, rows, at)
    else
      call part_to_rows(n, inner, lanes / inner / n, elements, rows, at)
    end if
  end subroutine turn_to_rows

  pure subroutine part_from_rows(n, inner, outer, rows, at, elements)
    integer, intent(in) :: n, inner, outer, at(0:*)
    real(dp), intent(in) :: rows(inner, 0:n - 1, outer, 2, 0:*)
    real(dp), intent(inout) :: elements(inner, 0:n - 1, outer, 2, 0:*)
    integer :: i, j

    do i = 0, n - 1
      do j = 0, n - 1
        elements(:, j, :, :, i) = rows(:, i, :, :, at(j))
      end do
    end do
  end subroutine part_from_rows

  pure subroutine part_to_rows(n, inner, outer, elements, rows, at)
    integer, intent(in) :: n, inner, outer, at(0:*)
    real(dp), intent(in) :: elements(inner, 0:n - 1, outer, 2, 0:*)
    real(dp), intent(inout) :: rows(inner, 0:n - 1, outer, 2, 0:*)
    integer :: i, j

    do j = 0, n - 1
      do i = 0, n - 1
        rows(:, i, :, :, at(j)) = elements(:, j, :, :, i)
      end do
    end do
  end subroutine part_to_rows

  !> Transposes eight rows. The unrolled statements form one group, which the compiler transposes in registers.
  pure subroutine eight_from_rows(rows, at, elements)
    real(dp), intent(in) :: rows(lanes, 2, 0:*)
    integer, intent(in) :: at(0:lanes - 1)
    real(dp), intent(inout) :: elements(lanes, 2, *)
    integer :: c, i

    do c = 1, 2
      !$omp simd
      do i = 1, lanes
        elements(1, c, i) = rows(i, c, at(0))
        elements(2, c, i) = rows(i, c, at(1))
        elements(3, c, i) = rows(i, c, at(2))
        elements(4, c, i) = rows(i, c, at(3))
        elements(5, c, i) = rows(i, c, at(4))
        elements(6, c, i) = rows(i, c, at(5))
        elements(7, c, i) = rows(i, c, at(6))
        elements(8, c, i) = rows(i, c, at(7))
      end do
    end do
  end subroutine eight_from_rows

  pure subroutine eight_to_rows(elements, rows, at)
    real(dp), intent(in) :: elements(lanes, 2, *)
    real(dp), intent(inout) :: rows(lanes, 2, 0:*)
    integer, intent(in) :: at(0:lanes - 1)
    integer :: c, i

    do c = 1, 2
      !$omp simd
      do i = 1, lanes
        rows(i, c, at(0)) = elements(1, c, i)
        rows(i, c, at(1)) = elements(2, c, i)
        rows(i, c, at(2)) = elements(3, c, i)
        rows(i, c, at(3)) = elements(4, c, i)
        rows(i, c, at(4)) = elements(5, c, i)
        rows(i, c, at(5)) = elements(6, c, i)
        rows(i, c, at(6)) = elements(7, c, i)
        rows(i, c, at(7)) = elements(8, c, i)
      end do
    end do
  end subroutine eight_to_rows
end module turn_m
