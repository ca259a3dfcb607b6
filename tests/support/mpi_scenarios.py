# SPDX-License-Identifier: Apache-2.0
"""The calls of the generated program, and the text around them in each binding (mpi_calls.py)."""

from support.mpi_calls import LEFT_OUT, Program

SENDS = ("Send", "Bsend", "Ssend", "Rsend")
COLLECTIVES = (
    *("Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv"),
    *("Alltoallw", "Reduce", "Allreduce", "Reduce_scatter_block", "Reduce_scatter", "Scan", "Exscan"),
)
NEIGHBOR = (
    "Neighbor_allgather",
    "Neighbor_allgatherv",
    "Neighbor_alltoall",
    "Neighbor_alltoallv",
    "Neighbor_alltoallw",
)
POST = "Irecv buf=rbuf request=rq1\nBarrier\n"


def point_to_point() -> list[str]:
    blocks = ["raw attach", "Recv source=null\nSend dest=null\nPcontrol level=1\nBarrier\nPcontrol level=0"]
    blocks += [f"Irecv buf=rbuf\nBarrier\n{name}\nWait" for name in SENDS]
    blocks += [f"{POST}I{name.lower()} request=rq2\nWaitall count=2" for name in SENDS]
    blocks += [
        f"Recv_init buf=rbuf request=rq1\n{name}_init request=rq2\nStart request=rq1\nBarrier\nStart request=rq2\n"
        "Waitall count=2 array_of_statuses=ignores\nRequest_free request=rq1\nRequest_free request=rq2"
        for name in SENDS
    ]
    return [
        *blocks,
        "Recv_init buf=rbuf request=rq1\nSend_init request=rq2\nStartall count=2\nWaitall count=2\n"
        "Request_free request=rq1\nRequest_free request=rq2",
        "Irecv buf=rbuf\nCancel\nRequest_free\nBarrier",  # the next message must not be received here
        "Isend\nRecv buf=rbuf count=longer source=any\nWait status=ignore",
        "Isend\nRecv buf=rbuf count=posted status=ignore\nWait",
        "Isend\nProbe\nloop Iprobe\nRecv buf=rbuf\nWait",
        "Isend\nMprobe\nMrecv buf=rbuf\nWait",
        "Isend request=rq1\nloop Improbe\nImrecv buf=rbuf request=rq2\nWaitall count=2",
        "Sendrecv",
        "Sendrecv_replace",
        f"raw nulls\n{POST}Send\nWaitany count=2",
        f"raw nulls\n{POST}Send\nWaitsome",
        f"raw nulls\n{POST}Send\nloop Testsome",
        "Irecv buf=rbuf\nBarrier\nSend\nloop Test",
        f"{POST}Isend request=rq2\nloop Testall count=2",
        f"raw nulls\n{POST}Send\nloop Testany count=2",
        "Buffer_detach buffer=detached size=bsize",
    ]


def collectives() -> list[str]:
    blocks = []
    for name in ("Barrier", *COLLECTIVES):
        displacements = " sdispls=bdispls rdispls=bdispls" if name == "Alltoallw" else ""
        blocks += [f"raw counts\n{name}{displacements}", f"raw counts\nI{name.lower()}{displacements}\nWait"]
    blocks.append("Alltoall sendbuf=inplace sendcount=0")
    # MPICH's mpi_f08 module supports neighbours of distributed graphs only.
    blocks.append("Dist_graph_create_adjacent indegree=2 outdegree=2")
    for name in NEIGHBOR:
        displacements = " sdispls=adispls rdispls=adispls" if name.endswith("w") else ""
        calls = (f"{name} comm=c1{displacements}", f"I{name.lower()} comm=c1{displacements}\nWait")
        blocks += [f"raw counts\n{call}" for call in calls]
    blocks.append("Comm_free comm=c1")
    return blocks


def communicators() -> list[str]:
    makers: tuple[str, ...] = (
        "Comm_dup",
        "Comm_dup_with_info",
        "Comm_split",
        "Comm_split_type",
        "Graph_create index=gindex",
    )
    makers += ("Dist_graph_create", "Dist_graph_create_adjacent")
    return [
        "Cart_create comm_cart=c1\nCart_sub comm=c1 new_comm=c2\nComm_free comm=c1\nComm_free comm=c2",
        *[f"{maker}\nComm_free comm=c1" for maker in makers],
        "Comm_idup\nWait\nComm_free comm=c1",
        *[f"raw group\n{maker}\nComm_free comm=c1" for maker in ("Comm_create", "Comm_create_group")],
        "Intercomm_create local_comm=self newintercomm=c2\nIntercomm_merge\nComm_free comm=c1\nComm_free comm=c2",
        "raw type\nType_free type=t1",
    ]


def windows() -> list[str]:
    accesses = ("Put", "Get origin_addr=rbuf", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap")
    requests = ("Rput", "Rget origin_addr=rbuf", "Raccumulate", "Rget_accumulate")
    return [
        "Win_create\nWin_fence",
        *[f"{access}\nWin_fence" for access in accesses],
        "raw peergroup\nWin_post\nWin_start\nPut\nWin_complete\nWin_wait",
        "Win_post\nWin_start\nWin_complete\nloop Win_test",
        "Win_lock\nPut\nWin_flush\nWin_flush_local\nWin_unlock\nBarrier",
        "Win_lock_all\nGet origin_addr=rbuf\nWin_flush_all\nWin_flush_local_all\nWin_sync\nWin_unlock_all\nBarrier",
        *[f"Win_lock_all\n{access}\nWait\nWin_unlock_all\nBarrier" for access in requests],
        "Win_free",
        "Win_allocate\nWin_free",
        "Win_allocate_shared\nWin_free",
        "Win_create_dynamic\nWin_free",
    ]


def files() -> list[str]:
    """Each rank has its own part of the file; the last calls share one file pointer."""
    blocks = ["File_open", "File_set_size size=foffset\nFile_preallocate size=foffset", "File_set_view"]
    for way in ("", "_all"):
        for what, buf in (("write", "sbuf"), ("read", "rbuf")):
            blocks += [f"File_{what}{way} buf={buf}", f"File_{what}_at{way} buf={buf} offset=zero_off"]
            blocks.append(f"File_i{what}{way} buf={buf}\nWait")
            blocks.append(f"File_i{what}_at{way} buf={buf} offset=zero_off\nWait")
    for what, buf in (("write", "sbuf"), ("read", "rbuf")):
        blocks.append(f"File_{what}_all_begin buf={buf}\nFile_{what}_all_end buf={buf}")
        blocks.append(f"File_{what}_at_all_begin buf={buf} offset=zero_off\nFile_{what}_at_all_end buf={buf}")
    blocks.append("File_sync\nFile_set_view disp=zero_off\nFile_seek_shared offset=zero_off")
    for what, buf in (("write", "sbuf"), ("read", "rbuf")):
        blocks += [
            f"File_{what}_shared buf={buf}",
            f"File_i{what}_shared buf={buf}\nWait",
            f"File_{what}_ordered buf={buf}",
        ]
        blocks.append(f"File_{what}_ordered_begin buf={buf}\nFile_{what}_ordered_end buf={buf}")
    return [*blocks, "File_close"]


C_BEGIN = """
#include <mpi.h>
#include <stddef.h>
#pragma GCC diagnostic ignored "-Wunused-variable"
static int sbuf[4096], rbuf[8192], wbuf[8192], cbuf[1], abuf[65536];
int main(int argc, char** argv) {
  MPI_Request r1 = MPI_REQUEST_NULL, rq[2];
  MPI_Status st, sts[2];
  MPI_Comm c1, c2;
  MPI_Win w1;
  MPI_Group g1, g2;
  MPI_File f1;
  MPI_Message m1;
  MPI_Datatype t1, types[2] = {MPI_INT, MPI_INT};
  MPI_Aint zero = 0, wbytes = 4096, adispls[2] = {0, 4096};
  MPI_Offset offset, zero_off = 0, foffset = 65536;
  void* base;
  int rank, peer, me[1], flag, outcount, idx, ix[2], counts[2], bsize, displs[2] = {0, 1024}, bdispls[2] = {0, 4096};
  int two[1] = {2}, yes[1] = {1}, gindex[2] = {1, 2}, edges[2] = {1, 0}, ones[1] = {1}, peers[2];
  int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  me[0] = rank;
  peer = peers[0] = peers[1] = 1 - rank;
  offset = 16384 * rank;
"""
FORTRAN_BEGIN = """
program calls
{use}
implicit none
{include}
integer, target, asynchronous :: sbuf(4096), rbuf(8192), wbuf(8192), cbuf(1), abuf(65536)
{handles}
integer(MPI_ADDRESS_KIND) :: zero, wbytes, adispls(2)
integer(MPI_OFFSET_KIND) :: offset, zero_off, foffset
integer :: rank, peer, me(1), outcount, idx, ix(2), counts(2), bsize, displs(2), bdispls(2), ierr, provided, mode
integer :: two(1), gindex(2), edges(2), ones(1), peers(2)
logical :: flag, yes(1)
character(len=1000) :: path
call {init}
call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
call get_command_argument(1, path)
r1 = MPI_REQUEST_NULL
me(1) = rank
peer = 1 - rank
peers = peer
zero = 0; wbytes = 4096; adispls = (/0, 4096/); offset = 16384*rank; zero_off = 0; foffset = 65536
displs = (/0, 1024/); bdispls = (/0, 4096/); two(1) = 2; yes(1) = .true.
gindex = (/1, 2/); edges = (/1, 0/); ones(1) = 1
types = MPI_INTEGER
mode = ior(MPI_MODE_CREATE, MPI_MODE_RDWR)
"""
INTEGER_HANDLES = """
integer :: r1, rq(2), st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE, 2), c1, c2, w1, g1, g2, f1, m1, t1, types(2)
integer(MPI_ADDRESS_KIND) :: base
"""
TYPED_HANDLES = """
type(MPI_Request) :: r1, rq(2)
type(MPI_Status) :: st, sts(2)
type(MPI_Comm) :: c1, c2
type(MPI_Win) :: w1
type(MPI_Group) :: g1, g2
type(MPI_File) :: f1
type(MPI_Message) :: m1
type(MPI_Datatype) :: t1, types(2)
type(c_ptr) :: base
"""


def begin(binding: str) -> tuple[str, str]:
    """Returns the text before the calls, and the function that starts MPI."""
    init = {"mpi": "MPI_Init(ierr)"}.get(binding, "MPI_Init_thread(MPI_THREAD_SINGLE, provided, ierr)")
    if binding == "c":
        return C_BEGIN, "MPI_Init"
    uses = {"mpif": "", "mpi": "use mpi", "mpi_f08": "use mpi_f08\nuse iso_c_binding, only: c_ptr"}
    text = FORTRAN_BEGIN.format(
        use=uses[binding],
        include="include 'mpif.h'" if binding == "mpif" else "",
        handles=TYPED_HANDLES if binding == "mpi_f08" else INTEGER_HANDLES,
        init=init,
    )
    return text, init.partition("(")[0]


def program(binding: str) -> tuple[str, Program]:
    """Returns the source of the program and what its profile must hold."""
    result = Program(binding)
    for block in (*point_to_point(), *collectives(), *communicators(), *windows(), *files()):
        result.scenario(block)
    result.scenario("Finalize")
    text, init = begin(binding)
    for expected in result.expected:
        expected.calls[init] += 1
        del expected.calls["MPI_Pcontrol"]
    missing = {name for name in result.table if name not in {"Init", "Init_thread", "Pcontrol", *LEFT_OUT}}
    missing -= {name.removeprefix("MPI_") for name in result.expected[0].calls}
    if missing:
        raise ValueError(f"no scenario calls {', '.join(sorted(missing))}")
    end = "return 0;\n}\n" if binding == "c" else "end program calls\n"
    return text + "\n".join(result.lines) + "\n" + end, result
