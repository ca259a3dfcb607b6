# SPDX-License-Identifier: Apache-2.0
"""Reads the output of IMB-MPI1: point-to-point communication and blocking collectives."""

from pathlib import Path

from fabricbench.launch.facts import Launch
from fabricbench.parsers.imb_table import TIMES, ImbProgram, Moves, Table, parse_program, twice_without_policy
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.quantities import Means

_THERE_AND_BACK = Moves(lambda p: 2, lambda p: 2, empty=True)
_WINDOWS = {"Mbytes/sec": "bandwidth", "Msg/sec": "message_rate"}
_PINGPONG = Table({"t[usec]": "latency", "Mbytes/sec": "bandwidth"}, _THERE_AND_BACK, pair=True)
_PINGPING = Table({"t[usec]": "time", "Mbytes/sec": "bandwidth"}, _THERE_AND_BACK, pair=True)
_EXCHANGE = TIMES | {"Mbytes/sec": "exchange_bandwidth"}

_ALLGATHER = Moves(lambda p: p * (p - 1), lambda p: p, barriers=1)
_ALLTOALL = Moves(lambda p: p * (p - 1), lambda p: p, barriers=1)
_REDUCED = Moves(lambda p: p, lambda p: p, barriers=1)
_ROOTED = Moves(lambda p: p - 1, lambda p: p - 1, barriers=1)

MEANS: Means = {
    "half_round_trip": ("pingpong", "latency"),
    "windows_one_way": ("uniband", "bandwidth"),
    "windows_both_ways": ("biband", "bandwidth"),
}
COLLECTIVES = {
    "allgather": _ALLGATHER,
    "allgatherv": _ALLGATHER,
    "allreduce": _REDUCED,
    "alltoall": _ALLTOALL,
    "alltoallv": _ALLTOALL,
    "bcast": _ROOTED,
    "gather": _ROOTED,
    "gatherv": _ROOTED,
    "reduce": _ROOTED,
    "reduce_local": Moves(lambda p: 0, lambda p: 0, barriers=1),
    "reduce_scatter": _REDUCED,
    "reduce_scatter_block": _REDUCED,
    "scatter": _ROOTED,
    "scatterv": _ROOTED,
}
"""The least that collectives move. IMB calls a barrier after every call."""

TABLES = {
    "pingpong": (_PINGPONG,),
    "pingpongspecificsource": (_PINGPONG,),
    "pingponganysource": (_PINGPONG,),
    "pingping": (_PINGPING,),
    "pingpingspecificsource": (_PINGPING,),
    "pingpinganysource": (_PINGPING,),
    "sendrecv": (Table(_EXCHANGE, Moves(lambda p: p, lambda p: p, empty=True)),),
    "exchange": (Table(_EXCHANGE, Moves(lambda p: 2 * p, lambda p: p, empty=True)),),
    "uniband": (Table(_WINDOWS, Moves(lambda p: p // 2, lambda p: p // 2 * 2, empty=True), windows=True),),
    "biband": (Table(_WINDOWS, Moves(lambda p: p // 2 * 2, lambda p: p // 2 * 2, empty=True), windows=True),),
    "barrier": (Table(TIMES, Moves(lambda p: 0, lambda p: p), sized=False),),
    **{name: (Table(TIMES, moves),) for name, moves in COLLECTIVES.items()},
}
"""Exchange sends two messages to each neighbour; with two ranks these may share a segment, so one is counted. So may
the messages of a window: of these one is counted, and the acknowledgement, or the message the other way."""

BENCHMARKS = tuple(TABLES)

PROGRAM = ImbProgram(TABLES, twice_without_policy)


def parse(directory: Path, launch: Launch) -> Parsed:
    """All rows of one run of IMB-MPI1 and its payload; see ``imb_table.parse_program``."""
    return parse_program(directory, launch, PROGRAM)
