# SPDX-License-Identifier: Apache-2.0
"""The report of a NAS parallel benchmark: the own kernels and NASA's programs print the same form."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from fabricbench.core.launch import Launch, canonical_case
from fabricbench.core.record import Payload, Row
from fabricbench.parsers.output import Parsed, Unreadable, number, read_text, whole

CLASSES = ("S", "W", "A", "B", "C", "D")
KERNELS = ("IS", "CG", "FT")


@dataclass(frozen=True, slots=True)
class Problem:
    """A kernel's problem of one class: points (keys, rows, grid points) and iterations; NPB 3.4's ``setparams``.

    ``most_ranks`` are the kernel's own bound; of CG, which would go on, 16 rows a rank.
    """

    points: int
    iterations: int
    nonzeros: int = 0
    least_ranks: int = 1
    most_ranks: int = 2**20

    def bytes(self, kernel: str) -> int:
        """Memory of all ranks together as NASA's programs allocate it, the most of both codes, without the stack's."""
        if kernel == "IS":  # three arrays of keys, each half as large again as it need be
            return self.points * 3 * 6
        if kernel == "CG":  # makea's elements and triples, eight vectors and their indices
            places = self.points * ((self.nonzeros + 1) ** 2 + self.nonzeros + 2)
            return places * 28 + self.points * 68
        return self.points * (3 * 16 + 8)


PROBLEMS: dict[tuple[str, str], Problem] = {
    ("IS", "S"): Problem(2**16, 10, most_ranks=128),
    **{("IS", c): Problem(2**k, 10, most_ranks=1024) for c, k in zip("WABC", (20, 23, 25, 27), strict=True)},
    ("IS", "D"): Problem(2**31, 10, least_ranks=4, most_ranks=1024),
    ("CG", "S"): Problem(1400, 15, 7, most_ranks=64),
    ("CG", "W"): Problem(7000, 15, 8, most_ranks=256),
    ("CG", "A"): Problem(14000, 15, 11, most_ranks=512),
    ("CG", "B"): Problem(75000, 75, 13, most_ranks=4096),
    ("CG", "C"): Problem(150000, 75, 15, most_ranks=8192),
    ("CG", "D"): Problem(1500000, 100, 21, most_ranks=65536),
    ("FT", "S"): Problem(64 * 64 * 64, 6, most_ranks=512),
    ("FT", "W"): Problem(128 * 128 * 32, 6, most_ranks=512),
    ("FT", "A"): Problem(256 * 256 * 128, 6, most_ranks=4096),
    ("FT", "B"): Problem(512 * 256 * 256, 20, most_ranks=8192),
    ("FT", "C"): Problem(512 * 512 * 512, 20, most_ranks=32768),
    ("FT", "D"): Problem(2048 * 1024 * 1024, 25, most_ranks=131072),
}

BENCHMARKS = tuple(f"{kernel.lower()}.{problem_class}" for kernel, problem_class in PROBLEMS)

_CG_STEPS = 25
"""Steps of the inner iteration of CG."""

_FIELD = re.compile(r"^ ([A-Za-z][A-Za-z /]*?) *= +(\S.*?) *$")
_TIMER = re.compile(r"^ timer +\d+ *\( *(\S+) *\) *: +(\S+) +(\S+) +(\S+) *$")
_NAME = re.compile(r"^ *(IS|CG|FT) Benchmark Completed")


@dataclass(frozen=True, slots=True)
class _Report:
    """What the closing form says, each with its line, and the mean of every timer."""

    kernel: str
    fields: dict[str, tuple[str, int]]
    timers: dict[str, tuple[str, int]]

    def field(self, name: str) -> tuple[str, int]:
        if name not in self.fields:
            raise Unreadable("stdout", None, f"the line '{name} =': the output is cut off")
        return self.fields[name]


def parse(directory: Path, launch: Launch) -> Parsed:
    """Mop/s, the time of the timed region, and what of it was communication (the timer ``totcomm``).

    A run that was not verified, that ran another kernel, class or number of ranks, is Unreadable.
    """
    text = read_text(directory / "stdout")
    lines = text.splitlines()
    if not text.endswith("\n"):
        raise Unreadable("stdout", len(lines), "a whole last line: the output is cut off")
    report = _read(lines)
    problem_class, at = report.field("Class")
    name = f"{report.kernel.lower()}.{problem_class}"
    if name != launch.benchmark:
        raise Unreadable("stdout", at, f"{launch.benchmark}, not {name[:40]}")
    ranks, at = report.field("Active processes")
    if whole(ranks, "stdout", at) != launch.ranks:
        raise Unreadable("stdout", at, f"{launch.ranks} ranks, not {ranks[:40]}")
    verification, at = report.field("Verification")
    if verification != "SUCCESSFUL":
        raise Unreadable("stdout", at, f"a successful verification, not '{verification[:40]}'")
    values = {"mops": report.field("Mop/s total"), "run_time": report.field("Time in seconds")}
    for timer in ("totcomm", "rcomm"):  # NASA's IS has no total
        if timer in report.timers:
            values.setdefault("communication_time", report.timers[timer])
    rows = tuple(
        Row(
            benchmark=name,
            case=canonical_case(launch.case),
            metric=metric,
            msg_size_bytes=None,
            value=number(text, "stdout", at),
        )
        for metric, (text, at) in values.items()
    )
    return Parsed(rows, payload(report.kernel, problem_class, launch.ranks))


def payload(kernel: str, problem_class: str, ranks: int) -> Payload:
    """The least that the timed iterations move between ``ranks`` (a power of two), whatever the implementation.

    IS: every key whose bucket is another rank's. FT: one transposition per transform; more than one where the grid
    is cut in two dimensions. CG: the partial sums of a row of the processor grid, summed and scattered, and two dot
    products a step. Warm-up and verification come on top.
    """
    problem = PROBLEMS[kernel, problem_class]
    if ranks == 1:
        return Payload(bytes=0, messages=0)
    doublings = int(math.log2(ranks))
    if kernel == "IS":
        moved = problem.iterations * 4 * problem.points * (ranks - 1) // ranks
        return Payload(bytes=moved, messages=problem.iterations * ranks * doublings)
    if kernel == "FT":
        transforms = problem.iterations + 1
        moved = transforms * 16 * problem.points * (ranks - 1) // ranks
        return Payload(bytes=moved, messages=transforms * ranks * doublings)
    columns = 2 ** ((doublings + 1) // 2)
    products = problem.iterations * (_CG_STEPS + 1)
    messages = (products + 2 * problem.iterations * _CG_STEPS) * ranks
    return Payload(bytes=products * 8 * problem.points * (columns - 1), messages=messages)


def _read(lines: list[str]) -> _Report:
    kernel = ""
    fields: dict[str, tuple[str, int]] = {}
    timers: dict[str, tuple[str, int]] = {}
    for at, line in enumerate(lines, start=1):
        if found := _NAME.match(line):
            kernel = found[1]
        elif kernel and (found := _FIELD.match(line)):
            fields.setdefault(found[1], (found[2], at))
        elif found := _TIMER.match(line):
            timers[found[1]] = (found[4], at)
    if not kernel:
        raise Unreadable("stdout", len(lines), "'IS, CG or FT Benchmark Completed': the output is cut off")
    return _Report(kernel, fields, timers)
