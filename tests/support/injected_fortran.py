# SPDX-License-Identifier: Apache-2.0
"""The Fortran program of the tests of injected delays, in each binding: a ping-pong that receives in several ways."""

BINDINGS = ("mpif", "mpi", "mpi_f08")
METHODS = ("recv", "sendrecv", "wait", "test", "waitall", "waitany", "testsome", "iprobe", "start")
"""In the order in which the program prints the time of the fastest round, in microseconds."""

_PROGRAM = """\
program injected
{use}
implicit none
{include}
integer, target, asynchronous :: out(64), in(64, 4)
{handles}
integer :: rank, peer, ierr, method, round, rounds
double precision :: begin, best
character(len=20) :: text
call MPI_Init(ierr)
call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
peer = 1 - rank
out = rank
call get_command_argument(1, text)
read (text, *) rounds
call MPI_Recv_init(in, 64, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, persistent, ierr)
do method = 1, 9
  best = 1d9
  do round = 1, rounds
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    begin = MPI_Wtime()
    if (method == 2) then
      call MPI_Sendrecv(out, 64, MPI_INTEGER, peer, 0, in, 64, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, &
        MPI_STATUS_IGNORE, ierr)
    else
      if (rank == 0) call send()
      call receive()
      if (rank == 1) call send()
    end if
    best = min(best, MPI_Wtime() - begin)
  end do
  if (rank == 0) print '(f0.3)', 1d6*best
end do
call MPI_Request_free(persistent, ierr)
call MPI_Finalize(ierr)
contains
  subroutine send()
    integer :: i, number
    number = 1
    if (method >= 5 .and. method <= 7) number = 4
    do i = 1, number
      call MPI_Send(out, 64, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, ierr)
    end do
  end subroutine
  subroutine receive()
    integer :: i, done, number, indices(4)
    logical :: flag
    if (method >= 3 .and. method <= 7) then
      do i = 1, 4
        requests(i) = MPI_REQUEST_NULL
        if (i == 1 .or. method >= 5) &
          call MPI_Irecv(in(1, i), 64, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, requests(i), ierr)
      end do
    end if
    select case (method)
    case (1)
      call MPI_Recv(in, 64, MPI_INTEGER, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, status, ierr)
    case (3)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    case (4)
      flag = .false.
      do while (.not. flag)
        call MPI_Test(requests(1), flag, status, ierr)
      end do
    case (5)
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    case (6)
      do i = 1, 4
        call MPI_Waitany(4, requests, done, MPI_STATUS_IGNORE, ierr)
        if (done == MPI_UNDEFINED) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
      end do
    case (7)
      done = 0
      do while (done < 4)
        call MPI_Testsome(4, requests, number, indices, statuses, ierr)
        done = done + number
      end do
    case (8)
      flag = .false.
      do while (.not. flag)
        call MPI_Iprobe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, flag, status, ierr)
      end do
      call MPI_Recv(in, 64, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    case (9)
      call MPI_Start(persistent, ierr)
      call MPI_Wait(persistent, MPI_STATUS_IGNORE, ierr)
    end select
    if (in(1, 1) /= peer) call MPI_Abort(MPI_COMM_WORLD, 4, ierr)
    in = -1
  end subroutine
end program
"""


def program(binding: str) -> str:
    """Returns the source; its argument is the number of rounds of each method."""
    integers = "integer :: requests(4), persistent, status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4)"
    typed = "type(MPI_Request) :: requests(4), persistent\ntype(MPI_Status) :: status, statuses(4)"
    return _PROGRAM.format(
        use={"mpif": "", "mpi": "use mpi", "mpi_f08": "use mpi_f08"}[binding],
        include="include 'mpif.h'" if binding == "mpif" else "",
        handles=typed if binding == "mpi_f08" else integers,
    )
