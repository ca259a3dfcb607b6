# SPDX-License-Identifier: Apache-2.0
"""Reads the output of IMB-MT: several threads of each rank at once, each with its own communicator."""

from pathlib import Path

from fabricbench.launch.facts import Launch
from fabricbench.parsers.imb_table import TIMES, ImbProgram, Moves, Table, int_option, parse_program
from fabricbench.parsers.output import Parsed

_PINGPONG = TIMES | {"t_avg[usec]": "latency", "Mbytes/sec": "bandwidth"}
_PINGPING = TIMES | {"Mbytes/sec": "bandwidth"}
_EXCHANGE = TIMES | {"Mbytes/sec": "exchange_bandwidth"}
_WINDOWS = {"t_avg[usec]": "time", "Mbytes/sec": "bandwidth", "Msg/sec": "message_rate"}
_ONE_EACH = Moves(lambda p: p, lambda p: p, empty=True)
_TWO_EACH = Moves(lambda p: 2 * p, lambda p: p, empty=True)

TABLES = {
    "pingpongmt": (Table(_PINGPONG, _ONE_EACH),),
    "pingpingmt": (Table(_PINGPING, _ONE_EACH),),
    "sendrecvmt": (Table(_EXCHANGE, _ONE_EACH),),
    "exchangemt": (Table(_EXCHANGE, _TWO_EACH),),
    "unibandmt": (Table(_WINDOWS, Moves(lambda p: p // 2, lambda p: p // 2 * 2, empty=True), windows=True),),
    "bibandmt": (Table(_WINDOWS, Moves(lambda p: p // 2 * 2, lambda p: p // 2 * 2, empty=True), windows=True),),
    "bcastmt": (Table(TIMES, Moves(lambda p: p - 1, lambda p: p - 1, barriers=5)),),
    "reducemt": (Table(TIMES, Moves(lambda p: p - 1, lambda p: p - 1, barriers=5)),),
    "allreducemt": (Table(TIMES, Moves(lambda p: p, lambda p: p, barriers=5)),),
    "barriermt": (Table(TIMES, Moves(lambda p: 0, lambda p: p), sized=False),),
}
"""Bytes are those of all threads. Messages are those of one thread, because messages of others may share their
segments."""

BENCHMARKS = tuple(TABLES)


def _runs(launch: Launch, repetitions: int) -> int:
    """The printed repetitions, after the untimed ones of ``-warmup``."""
    return repetitions + int_option(launch, "-warmup", 0)


PROGRAM = ImbProgram(
    TABLES,
    _runs,
    closed=lambda lines: not lines[-1].strip(),
    closing="an empty line, with which IMB-MT ends",
)


def parse(directory: Path, launch: Launch) -> Parsed:
    """All rows of one run of IMB-MT and its payload; see ``imb_table.parse_program``."""
    return parse_program(directory, launch, PROGRAM)
