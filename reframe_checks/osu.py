# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks, wherever a stack has them: point-to-point, one-sided, collective."""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable
from reframe.core.runtime import runtime

from fabricbench.launch.facts import Expected
from fabricbench.parsers.tools.osu import PROGRAMS, SYNCS, WINDOW, WINDOWS, Program, Version, version_of

from .base import SELDOM, SizedBenchmark, processors

OSU = "FABRICBENCH_OSU"
"""Names a directory that holds ``<stack>/``, OSU's programs built on each stack, anywhere below."""
IN_PREFIX = "libexec/osu-micro-benchmarks"
"""Where OSU installs its programs, and MVAPICH its copy of them, below a prefix."""
LARGEST_PROGRAM_BYTES = 64 * 2**20
SIZES_SINCE: dict[str, Version] = {"pt2pt": (5, 4), "one-sided": (5, 4), "collective": (5, 3)}
"""From here on a program takes a smallest and a largest size (OSU's CHANGES)."""
TYPES_SINCE: Version = (7, 1)
"""From here on a program takes a data type; before, reductions are of floats, atomic operations of 64-bit integers."""
TIMES: tuple[str, ...] = ("time", "time_min", "time_max")
_TITLE = re.compile(rb"# OSU MPI[^\n\0]{0,99} v(\d{1,3}(?:\.\d{1,3}){1,3})\n")


@cache
def programs_below(folder: Path) -> Mapping[str, Path]:
    """OSU's programs below a folder, by name; of several of one name that with the shortest path."""
    longest_first = sorted(folder.rglob("osu_*"), key=lambda path: (len(path.parts), path), reverse=True)
    found = {path.name: path for path in longest_first if path.is_file() and os.access(path, os.X_OK)}
    return {name: found[name] for name in PROGRAMS if name in found}


@cache
def version_in(program: Path) -> str | None:
    """The version in a program's title, as it stands in the file. Nothing is started to find it: some systems let no
    MPI program run where checks are prepared."""
    if program.stat().st_size > LARGEST_PROGRAM_BYTES:
        return None
    found = _TITLE.search(program.read_bytes())
    return found.group(1).decode() if found else None


def _of(family: str) -> list[str]:
    return [name for name, program in PROGRAMS.items() if program.family == family]


class Osu(SizedBenchmark):
    """One program of OSU, with the options that its version has; it measures no empty message since 7.0."""

    tool = "osu"
    empty = False
    tags = SELDOM
    osu = parameter(loggable=True)
    iterations = variable(int, value=200)
    large_iterations = variable(int, value=10)
    pairs = variable(int, value=0)  # of ranks, where a program takes several: as many as the nodes have cores for
    limit_seconds = 60.0

    @property
    def what(self) -> Program:
        """The program as the parser knows it."""
        return PROGRAMS[self.osu]

    @run_after("init")
    def choose(self) -> None:
        self.benchmark, self.family = self.what.benchmark, self.what.family
        if self.what.pairs:
            cores = min(processors(partition) for partition in runtime().system.partitions)
            self.pairs = self.pairs or max(1, cores // 2)
            self.ranks = 2 * self.pairs
            self.case = {**self.case, "pairs": self.pairs}
        if self.what.window:
            self.case = {**self.case, "window": WINDOW}
        if self.what.window or self.what.family == "collective":
            self.largest_bytes = min(self.largest_bytes, 2**20)
        self.smallest_bytes = self.what.smallest_bytes(self.ranks)

    @property
    def found(self) -> Mapping[str, Path]:
        """The stack's programs: below the directory that is named, else in its Spack view or the stack's own prefix."""
        if self.stack_facts["installed"] is None:
            return {}
        if named := os.environ.get(OSU):
            return programs_below((Path(named) / self.stack_facts["stack"]).resolve())
        own, stack = (
            programs_below(Path(at).resolve() / IN_PREFIX) for at in (self.installed.apps, self.installed.prefix)
        )
        return own or stack

    @property
    def version(self) -> str:
        """As the family's programs say it; empty where none does."""
        versions = (version_in(self.found[name]) for name in _of(self.what.family) if name in self.found)
        return next((version for version in versions if version), "")

    def tool_versions(self) -> dict[str, str]:
        return {"osu": self.version}

    def family_skip(self) -> tuple[str, str] | None:
        stack, family = self.stack_facts["stack"], self.what.family
        hint = f"spack install osu-micro-benchmarks ^{stack}; then {OSU}=DIRECTORY, with {stack}/ in it the prefix"
        if not any(name in self.found for name in _of(family)):
            return f"no OSU micro-benchmarks ({family}) for {stack}", hint
        if not self.version:
            return f"the OSU micro-benchmarks ({family}) for {stack} do not say their version", hint
        if version_of(self.version) < (since := SIZES_SINCE[family]):
            reason = f"OSU {self.version} ({family}) takes no sizes: small and large messages would share a launch"
            return reason, f"use OSU {'.'.join(map(str, since))} or newer: {hint}"
        return None

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.osu not in self.found:
            return f"OSU {self.version} for {self.stack_facts['stack']} has no {self.osu}", "use a newer OSU"
        return None

    def program(self) -> str:
        return str(self.found[self.osu])

    def arguments(self) -> list[str]:
        sizes = self.sizes()
        count = self.large_iterations if self.messages == "large" else self.iterations
        count = max(2, count // 10) if self.what.window else count
        options = ["-m", f"{sizes[0]}:{sizes[-1]}"] if self.what.sized else []
        options += ["-i", str(count), "-x", str(max(1, count // 10))]
        if self.what.metric == "time":
            options.append("-f")
        if self.checks_data():
            options.append("-c")
        if self.what.reduces and version_of(self.version) >= TYPES_SINCE:
            options += ["-T", "mpi_float" if self.what.family == "collective" else "mpi_int"]
        return options

    def checks_data(self) -> bool:
        """Whether OSU validates what arrived."""
        return self.what.validated is not None and version_of(self.version) >= self.what.validated

    def expected(self) -> Iterator[Expected]:
        metrics = TIMES if self.what.metric == "time" else (self.what.metric,)
        metrics += ("message_rate",) if self.osu == "osu_mbw_mr" else ()
        for metric in metrics:
            yield Expected(benchmark=self.benchmark, metric=metric, msg_sizes_bytes=self.sizes())


@rfm.simple_test
class OsuPointToPoint(Osu):
    descr = "an OSU point-to-point benchmark"
    osu = parameter(_of("pt2pt"), loggable=True)


class OsuWindow(Osu):
    """One-sided, over a window of memory. What completes an operation is part of what is measured."""

    sync = variable(str, value="flush", loggable=True)
    win = variable(str, value="create", loggable=True)

    @run_after("init")
    def choose_sync(self) -> None:
        if self.osu == "osu_put_bibw" and self.sync not in ("pscw", "fence"):
            self.sync = "pscw"  # it has no other
        self.case = {**self.case, "sync": self.sync, "win": self.win}

    def benchmark_skip(self) -> tuple[str, str] | None:
        for name, value, known in (("sync", self.sync, SYNCS), ("win", self.win, WINDOWS)):
            if value not in known:
                return f"no {name} is called '{value}'", f"choose one of {', '.join(known)}"
        return super().benchmark_skip()

    def checks_data(self) -> bool:
        """Not where the target is passive: it looks at its memory while the origin goes on, and finds the next value
        (osu_fop_latency of 7.4: after the first operation a barrier, and the origin's loop continues)."""
        return self.sync in ("pscw", "fence") and super().checks_data()

    def arguments(self) -> list[str]:
        return [*super().arguments(), "-w", self.win, "-s", self.sync]


@rfm.simple_test
class OsuOneSided(OsuWindow):
    descr = "an OSU one-sided benchmark"
    osu = parameter([name for name in _of("one-sided") if PROGRAMS[name].sized], loggable=True)


@rfm.simple_test
class OsuAtomic(OsuWindow):
    descr = "an OSU benchmark of an atomic operation on one number"
    osu = parameter([name for name in _of("one-sided") if not PROGRAMS[name].sized], loggable=True)
    messages = parameter(["small"])

    def sizes(self) -> tuple[int, ...]:
        return (8 if self.version and version_of(self.version) < TYPES_SINCE else 4,)


@rfm.simple_test
class OsuCollective(Osu):
    """One collective a launch: a stack may send one of them another way than the rest, which must not hide it."""

    descr = "an OSU collective"
    osu = parameter([name for name in _of("collective") if PROGRAMS[name].sized], loggable=True)


@rfm.simple_test
class OsuBarrier(Osu):
    descr = "OSU's barrier"
    osu = parameter(["osu_barrier"], loggable=True)
    messages = parameter(["small"])

    def expected(self) -> Iterator[Expected]:
        for metric in TIMES:
            yield Expected(benchmark=self.benchmark, metric=metric)
