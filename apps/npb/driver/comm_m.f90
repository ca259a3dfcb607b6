! SPDX-License-Identifier: Apache-2.0
!> All MPI calls of the Fortran kernels. Each call is timed in the phase that the caller passes.
!>
!> Buffers are real(dp), because some mpi modules accept only one type per argument. Callers pass a complex buffer as
!> twice as many reals.
module comm_m
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_int64_t, c_loc
  use mpi
  use npb_m, only: dp, phase_begin, phase_end
  implicit none
  private
  public :: comm_rank, comm_split, comm_free, comm_barrier, comm_sum_to_root, comm_exchange, comm_swap, comm_alltoall

  integer, parameter :: tag = 1

contains

  integer function comm_rank(comm) result(rank)
    integer, intent(in) :: comm
    integer :: error

    call MPI_Comm_rank(comm, rank, error)
  end function comm_rank

  !> Returns a communicator of the ranks of `comm` with the same colour, in the order of their keys.
  integer function comm_split(comm, color, key) result(part)
    integer, intent(in) :: comm, color, key
    integer :: error

    call MPI_Comm_split(comm, color, key, part, error)
  end function comm_split

  subroutine comm_free(comm)
    integer, intent(inout) :: comm
    integer :: error

    call MPI_Comm_free(comm, error)
  end subroutine comm_free

  subroutine comm_barrier(comm, phase)
    integer, intent(in) :: comm
    integer(c_int), intent(in) :: phase
    integer :: error

    call phase_begin(phase)
    call MPI_Barrier(comm, error)
    call phase_end(phase)
  end subroutine comm_barrier

  !> Sums one complex number over all ranks. Rank 0 receives the sum; the others receive 0.
  subroutine comm_sum_to_root(value, comm, phase)
    complex(dp), intent(inout) :: value
    integer, intent(in) :: comm
    integer(c_int), intent(in) :: phase
    real(dp) :: parts(2), sums(2)
    integer :: error

    parts = [real(value), aimag(value)]
    sums = 0.0_dp
    call phase_begin(phase)
    call MPI_Reduce(parts, sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, 0, comm, error)
    call phase_end(phase)
    value = cmplx(sums(1), sums(2), dp)
  end subroutine comm_sum_to_root

  !> Sends n numbers to `partner`, which may be this rank, and receives n numbers from it.
  subroutine comm_exchange(send, receive, n, partner, comm, phase)
    integer, intent(in) :: n, partner, comm
    real(dp), intent(in) :: send(n)
    real(dp), intent(out) :: receive(n)
    integer(c_int), intent(in) :: phase

    call comm_swap(send, n, receive, n, partner, comm, phase)
  end subroutine comm_exchange

  !> Sends `sent` numbers to `partner`, which may be this rank, and receives `received` from it. The calls are those of
  !> NASA's CG.
  subroutine comm_swap(send, sent, receive, received, partner, comm, phase)
    integer, intent(in) :: sent, received, partner, comm
    real(dp), intent(in) :: send(sent)
    real(dp), intent(out), asynchronous :: receive(received)
    integer(c_int), intent(in) :: phase
    integer :: request, error

    call phase_begin(phase)
    call MPI_Irecv(receive, received, MPI_DOUBLE_PRECISION, partner, tag, comm, request, error)
    call MPI_Send(send, sent, MPI_DOUBLE_PRECISION, partner, tag, comm, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call phase_end(phase)
  end subroutine comm_swap

  !> Exchanges n numbers between all ranks of `comm`: the i-th piece of `send` goes to rank i - 1.
  subroutine comm_alltoall(send, receive, n, comm, phase)
    integer, intent(in) :: n, comm
    complex(dp), intent(in), target :: send(*)
    complex(dp), intent(out), target :: receive(*)
    integer(c_int), intent(in) :: phase
    real(dp), pointer :: out(:), in(:)
    integer :: ranks, error

    call MPI_Comm_size(comm, ranks, error)
    call c_f_pointer(c_loc(send(1)), out, [2_c_int64_t * n * ranks])
    call c_f_pointer(c_loc(receive(1)), in, [2_c_int64_t * n * ranks])
    call phase_begin(phase)
    call MPI_Alltoall(out, 2 * n, MPI_DOUBLE_PRECISION, in, 2 * n, MPI_DOUBLE_PRECISION, comm, error)
    call phase_end(phase)
  end subroutine comm_alltoall
end module comm_m
