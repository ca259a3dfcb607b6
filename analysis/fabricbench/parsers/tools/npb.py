# SPDX-License-Identifier: Apache-2.0
"""Reads the report of a NAS parallel benchmark. The project's own kernels and NASA's programs use the same format.

Only their first lines differ: ``Fabricbench CG after NPB 3.4`` and ``NAS Parallel Benchmarks 3.4 -- CG Benchmark``. The
kernels of earlier versions printed NASA's line.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from fabricbench.launch.facts import Launch, canonical_case
from fabricbench.launch.record import Payload, Row, SkippedSize
from fabricbench.parsers.output import Parsed, TimedCalls, Unreadable, number, read_text, whole

CLASSES = ("S", "W", "A", "B", "C", "D")
KERNELS = ("IS", "CG", "FT")


@dataclass(frozen=True, slots=True)
class ProblemClass:
    """The problem of a kernel and class: points (keys, rows, grid points) and iterations (NPB 3.4, ``setparams``).

    ``most_ranks``: the limit of the kernel; for CG, which has none, 16 rows per rank.
    """

    points: int
    iterations: int
    nonzeros: int = 0
    least_ranks: int = 1
    most_ranks: int = 2**20

    def bytes(self, kernel: str) -> int:
        """Returns the memory of all ranks in bytes, without that of the stack: the larger of the two codes' needs."""
        if kernel == "IS":  # three arrays of 4-byte keys, each with 50 % spare space
            return self.points * 3 * 6
        if kernel == "CG":  # makea's elements and triples, eight vectors and their indices
            places = self.points * ((self.nonzeros + 1) ** 2 + self.nonzeros + 2)
            return places * 28 + self.points * 68
        return self.points * (3 * 16 + 8)


PROBLEMS: dict[tuple[str, str], ProblemClass] = {
    ("IS", "S"): ProblemClass(2**16, 10, most_ranks=128),
    **{("IS", c): ProblemClass(2**k, 10, most_ranks=1024) for c, k in zip("WABC", (20, 23, 25, 27), strict=True)},
    ("IS", "D"): ProblemClass(2**31, 10, least_ranks=4, most_ranks=1024),
    ("CG", "S"): ProblemClass(1400, 15, 7, most_ranks=64),
    ("CG", "W"): ProblemClass(7000, 15, 8, most_ranks=256),
    ("CG", "A"): ProblemClass(14000, 15, 11, most_ranks=512),
    ("CG", "B"): ProblemClass(75000, 75, 13, most_ranks=4096),
    ("CG", "C"): ProblemClass(150000, 75, 15, most_ranks=8192),
    ("CG", "D"): ProblemClass(1500000, 100, 21, most_ranks=65536),
    ("FT", "S"): ProblemClass(64 * 64 * 64, 6, most_ranks=512),
    ("FT", "W"): ProblemClass(128 * 128 * 32, 6, most_ranks=512),
    ("FT", "A"): ProblemClass(256 * 256 * 128, 6, most_ranks=4096),
    ("FT", "B"): ProblemClass(512 * 256 * 256, 20, most_ranks=8192),
    ("FT", "C"): ProblemClass(512 * 512 * 512, 20, most_ranks=32768),
    ("FT", "D"): ProblemClass(2048 * 1024 * 1024, 25, most_ranks=131072),
}

BENCHMARKS = tuple(f"{kernel.lower()}.{problem_class}" for kernel, problem_class in PROBLEMS)

TIMED_CALLS = (TimedCalls("communication_time", region=True),)

_CG_STEPS = 25
"""Steps of the inner iteration of CG."""

_FIELD = re.compile(r"^ ([A-Za-z][A-Za-z /]*?) *= +(\S.*?) *$")
_TIMER = re.compile(r"^ timer +\d+ *\( *(\S+) *\) *: +(\S+) +(\S+) +(\S+) *$")
_HEAD = re.compile(r"^ *NAS Parallel Benchmarks? .*-- *(\w+) Benchmark|^ Fabricbench (\w+) after NPB \S+$")
_NAME = re.compile(r"^ *(IS|CG|FT) Benchmark Completed")
_SIZE = re.compile(r"([0-9]{1,18})(?:x *([0-9]{1,6})x *([0-9]{1,6}))?")


@dataclass(frozen=True, slots=True)
class _Report:
    """The fields of the closing table with their lines, and the mean of every timer.

    ``own``: the line in which the program says that it is the project's own kernel; 0 if it does not.
    """

    kernel: str
    fields: dict[str, tuple[str, int]]
    timers: dict[str, tuple[str, int]]
    own: int

    def field(self, name: str) -> tuple[str, int]:
        if name not in self.fields:
            raise Unreadable("stdout", None, f"the line '{name} =': the output is cut off")
        return self.fields[name]


def parse(directory: Path, launch: Launch) -> Parsed:
    """Mop/s, the time of the timed region, and its communication time (the timer ``totcomm``).

    Raises Unreadable if the run is not verified, if kernel, class, size, iterations or ranks differ from the launch, if
    Mop/s is 0, if there are two reports, or if the project's own kernel ran in place of NASA's program. A time that is
    printed as 0 is skipped; the communication time of one rank is 0.
    """
    text = read_text(directory / "stdout")
    lines = text.splitlines()
    if not text.endswith("\n"):
        raise Unreadable("stdout", len(lines), "a whole last line: the output is cut off")
    report = _read_report(lines)
    problem_class, at = report.field("Class")
    if report.own and launch.case.get("code") == "nasa":
        raise Unreadable("stdout", report.own, "NASA's program, this is the project's own kernel")
    name = f"{report.kernel.lower()}.{problem_class}"
    if name != launch.benchmark:
        raise Unreadable("stdout", at, f"{launch.benchmark}, not {name[:40]}")
    _require_problem(report, problem_class, launch.ranks)
    values = {"mops": report.field("Mop/s total"), "run_time": report.field("Time in seconds")}
    for timer in ("totcomm", *(("rcomm",) if report.kernel == "IS" else ())):  # NASA's IS has no total
        if timer in report.timers:
            values.setdefault("communication_time", report.timers[timer])
    numbers = {metric: number(text, "stdout", at) for metric, (text, at) in values.items()}
    if not numbers["mops"]:
        raise Unreadable("stdout", values["mops"][1], "more than 0 Mop/s")
    case = canonical_case(launch.case)
    below = [m for m, value in numbers.items() if not value and (m == "run_time" or launch.ranks > 1)]
    rows = [
        Row(benchmark=name, case=case, metric=metric, msg_size_bytes=None, value=value)
        for metric, value in numbers.items()
        if metric not in below
    ]
    skips = [SkippedSize(benchmark=name, case=case, msg_size_bytes=None, reason=_too_small(problem_class, below))]
    return Parsed(tuple(rows), payload(report.kernel, problem_class, launch.ranks), tuple(skips if below else ()))


def _require_problem(report: _Report, problem_class: str, ranks: int) -> None:
    """Raises Unreadable unless the report is verified and has the size and iterations of the class and ``ranks``."""
    problem = PROBLEMS.get((report.kernel, problem_class))
    if problem is None:
        raise Unreadable("stdout", report.field("Class")[1], f"a class of NPB, not '{problem_class[:40]}'")
    size, at = report.field("Size")
    match = _SIZE.fullmatch(size)
    sides = [int(side) for side in match.groups() if side] if match else []
    if len(sides) != (3 if report.kernel == "FT" else 1) or math.prod(sides) != problem.points:
        raise Unreadable("stdout", at, f"the size of class {problem_class}, {problem.points} points, not '{size[:40]}'")
    requirements = {
        "Iterations": (problem.iterations, "iterations"),
        "Total processes": (ranks, "ranks"),
        "Active processes": (ranks, "ranks that take part"),
    }
    for name, (expected, what) in requirements.items():
        text, at = report.field(name)
        if whole(text, "stdout", at) != expected:
            raise Unreadable("stdout", at, f"{expected} {what}, not {text[:40]}")
    verification, at = report.field("Verification")
    if verification != "SUCCESSFUL":
        raise Unreadable("stdout", at, f"a successful verification, not '{verification[:40]}'")


def _too_small(problem_class: str, metrics: list[str]) -> str:
    return f"{' and '.join(metrics)} printed as 0: class {problem_class} is too small for the resolution NPB prints"


def payload(kernel: str, problem_class: str, ranks: int) -> Payload:
    """Returns the least payload of the timed iterations on ``ranks`` (a power of two) for any implementation.

    IS: every key whose bucket belongs to another rank. FT: one transposition per transform; more if the grid is divided
    in two dimensions. CG: the partial sums of a row of the processor grid, summed and scattered, and two dot products
    per step. Warm-up and verification are not counted.
    """
    problem = PROBLEMS[kernel, problem_class]
    if ranks == 1:
        return Payload(bytes=0, messages=0)
    doublings = int(math.log2(ranks))
    if kernel == "IS":
        bytes_ = problem.iterations * 4 * problem.points * (ranks - 1) // ranks
        return Payload(bytes=bytes_, messages=problem.iterations * ranks * doublings)
    if kernel == "FT":
        transforms = problem.iterations + 1
        bytes_ = transforms * 16 * problem.points * (ranks - 1) // ranks
        return Payload(bytes=bytes_, messages=transforms * ranks * doublings)
    columns = 2 ** ((doublings + 1) // 2)
    products = problem.iterations * (_CG_STEPS + 1)
    messages = (products + 2 * problem.iterations * _CG_STEPS) * ranks
    return Payload(bytes=products * 8 * problem.points * (columns - 1), messages=messages)


def _read_report(lines: list[str]) -> _Report:
    kernel, head, own = "", "", 0
    fields: dict[str, tuple[str, int]] = {}
    timers: dict[str, tuple[str, int]] = {}
    for at, line in enumerate(lines, start=1):
        if match := _HEAD.match(line):
            if head or kernel:
                raise Unreadable("stdout", at, "one report, this is the head of another")
            head, own = match[1] or match[2], at if match[2] else 0
        elif match := _NAME.match(line):
            kernel = _kernel_at_end(match[1], head, kernel, at)
        elif kernel and (match := _FIELD.match(line)):
            _once(fields, match[1], (match[2], at))
        elif match := _TIMER.match(line):
            _once(timers, match[1], (match[4], at))
    if not kernel:
        raise Unreadable("stdout", len(lines), "'IS, CG or FT Benchmark Completed': the output is cut off")
    return _Report(kernel, fields, timers, own)


def _kernel_at_end(kernel: str, head: str, before: str, at: int) -> str:
    """Returns the kernel whose report ends in this line.

    Raises Unreadable if the output has another report, or if the report began with another kernel.
    """
    if before:
        raise Unreadable("stdout", at, "one report, this is the end of another")
    if head and head != kernel:
        raise Unreadable("stdout", at, f"the end of {head[:40]}'s report, not of {kernel}'s")
    return kernel


def _once(entries: dict[str, tuple[str, int]], name: str, value: tuple[str, int]) -> None:
    if name in entries:
        raise Unreadable("stdout", value[1], f"one line '{name[:40]}', the first is line {entries[name][1]}")
    entries[name] = value
