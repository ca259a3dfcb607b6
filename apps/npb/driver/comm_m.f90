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
  public :: comm_rank, comm_split, comm_free, comm_barrier, comm_sum, comm_exchange, comm_swap, comm_alltoall

  interface comm_sum
    module procedure sum_many, sum_complex
  end interface

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

  !> Sums each element over all ranks. All ranks receive the sums.
  subroutine sum_many(values, n, comm, phase)
    integer, intent(in) :: n, comm
    real(dp), intent(inout) :: values(n)
    integer(c_int), intent(in) :: phase
    real(dp) :: sums(n)
    integer :: error

    call phase_begin(phase)
    call MPI_Allreduce(values, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, error)
    call phase_end(phase)
    values = sums
  end subroutine sum_many

  subroutine sum_complex(values, n, comm, phase)
    integer, intent(in) :: n, comm
    complex(dp), intent(inout), target :: values(n)
    integer(c_int), intent(in) :: phase
    real(dp), pointer :: parts(:)

    call c_f_pointer(c_loc(values), parts, [2 * n])
    call sum_many(parts, 2 * n, comm, phase)
  end subroutine sum_complex

  !> Sends n numbers to `partner` and receives n numbers from it. Copies if `partner` is this rank.
  subroutine comm_exchange(send, receive, n, partner, comm, phase)
    integer, intent(in) :: n, partner, comm
    real(dp), intent(in) :: send(n)
    real(dp), intent(out) :: receive(n)
    integer(c_int), intent(in) :: phase

    call comm_swap(send, n, receive, n, partner, comm, phase)
  end subroutine comm_exchange

  !> Sends `sent` numbers to `partner` and receives `received` from it.
  subroutine comm_swap(send, sent, receive, received, partner, comm, phase)
    integer, intent(in) :: sent, received, partner, comm
    real(dp), intent(in) :: send(sent)
    real(dp), intent(out) :: receive(received)
    integer(c_int), intent(in) :: phase
    integer :: error

    call phase_begin(phase)
    call MPI_Sendrecv(send, sent, MPI_DOUBLE_PRECISION, partner, tag, receive, received, MPI_DOUBLE_PRECISION, &
                      partner, tag, comm, MPI_STATUS_IGNORE, error)
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
