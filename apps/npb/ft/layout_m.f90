! SPDX-License-Identifier: Apache-2.0
!> Distribution of the points of FT over a grid of p1 by p2 ranks, with pencils (slabs if p1 = 1).
!>
!> A chunk (fft_m) holds one point of each of eight lines: `width` neighbours in x times `depth` neighbours in z. The
!> width is 8 and the depth 1, unless a rank has less than eight points in x or y, as with NASA's pencils. In physical
!> space the lines are along x, so chunks hold neighbours in y instead of x. In the spectrum the lines are along z, so
!> chunks hold neighbours in y instead of z.
!>
!> The stages and the order of their chunks on a rank, the first index fastest:
!>
!>   physical  (x, y / width, z / depth)                y divided over p1, z over p2
!>   x side    (x / width, y, z / depth, piece of p1)   exchanged between the transforms along x and along y
!>   z side    (x / width, y, z / depth, piece of p2)   exchanged between the transforms along y and along z; x divided
!>                                                      over p1
!>   spectrum  (z, x / width, y / depth)                x divided over p1, y over p2
module layout_m
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_loc
  use, intrinsic :: iso_fortran_env, only: int64
  use aligned_m, only: aligned_shift, slack
  use comm_m, only: comm_free, comm_rank, comm_split
  use fft_m, only: lanes
  use npb_m, only: dp
  implicit none
  private
  public :: grid_t, grid_init, layout_t, layout_init, layout_free

  !> Chunks, aligned to cache lines.
  type :: grid_t
    real(dp), allocatable :: store(:)
    real(dp), pointer, contiguous :: at(:, :, :) => null() !< shape: lanes, 2, 0:…
  end type grid_t

  !> Distribution of the points over the ranks.
  type :: layout_t
    integer :: n(3)                 !< points in x, y, z
    integer :: p1, p2               !< ranks that divide x or y, and y or z
    integer :: me1, me2             !< indices of this rank in p1 and p2
    integer :: comm1, comm2         !< the ranks with the same me2, and with the same me1
    integer :: width, depth         !< neighbours in x (or y) and in z (or y) of a chunk; their product is 8
    integer :: chunks               !< in x, beyond the x side
    integer :: rows_x, rows_z       !< in y, at the x and the z side
    integer :: planes, layers       !< points and chunks in z, until the spectrum
    integer :: plane_x, plane_z     !< chunks from one layer to the next
    integer :: plane_physical
    integer :: all_chunks           !< of a grid
  end type layout_t

contains

  !> Allocates a grid of this many chunks.
  subroutine grid_init(grid, chunks)
    type(grid_t), intent(inout), target :: grid
    integer, intent(in) :: chunks
    integer :: shift

    allocate (grid%store(chunks * 2_int64 * lanes + slack))
    shift = aligned_shift(grid%store)
    call c_f_pointer(c_loc(grid%store(1 + shift)), grid%at, [lanes, 2, chunks])
    grid%at(1:, 1:, 0:) => grid%at
  end subroutine grid_init

  !> Distributes n points over p1 by p2 ranks of the communicator.
  subroutine layout_init(layout, n, p1, p2, comm)
    type(layout_t), intent(out) :: layout
    integer, intent(in) :: n(3), p1, p2, comm

    layout%n = n
    layout%p1 = p1
    layout%p2 = p2
    layout%me1 = comm_rank(comm) / p2
    layout%me2 = modulo(comm_rank(comm), p2)
    layout%comm1 = comm_split(comm, layout%me2, layout%me1)
    layout%comm2 = comm_split(comm, layout%me1, layout%me2)
    layout%width = min(lanes, n(1) / p1, n(2) / p1)
    layout%depth = lanes / layout%width
    layout%chunks = n(1) / p1 / layout%width
    layout%rows_x = n(2) / p1
    layout%rows_z = n(2) / p2
    layout%planes = n(3) / p2
    layout%layers = layout%planes / layout%depth
    layout%plane_x = layout%chunks * layout%rows_x
    layout%plane_z = layout%chunks * layout%rows_z
    layout%plane_physical = n(1) * layout%rows_x / layout%width
    layout%all_chunks = layout%plane_z * (n(3) / layout%depth)
  end subroutine layout_init

  subroutine layout_free(layout)
    type(layout_t), intent(inout) :: layout

    call comm_free(layout%comm1)
    call comm_free(layout%comm2)
  end subroutine layout_free
end module layout_m
