# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks (point-to-point, one-sided, collective), on every stack for which they are installed."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.launch.facts import Expected, OmittedSizes
from fabricbench.parsers.osu_programs import PROGRAMS, SYNCS, WINDOW, WINDOWS, OsuProgram
from fabricbench.parsers.osu_table import Version, version_of
from fabricbench.site.programs import OSU, SOURCE, osu_programs, osu_version
from fabricbench.site.scale import COLLECTIVE, RANK_PAIRS, Breadth, ScaleRule

from .base import SELDOM, SizedBenchmark, scales
from .base.scale import available_nodes, scaled_limit

SIZES_SINCE: dict[str, Version] = {"pt2pt": (5, 4), "congestion": (7, 4), "one-sided": (5, 4), "collective": (5, 3)}
"""The first version by family with options for the smallest and largest size (OSU's CHANGES)."""
TYPES_SINCE: Version = (7, 1)
"""The first version with an option for the data type; earlier ones reduce floats and use 64-bit integers in atomics."""
MEMORY_BYTES = 512 * 2**20
"""OSU's limit of the memory of a rank: it omits sizes of which one message for each rank takes more."""
EXCHANGES = ("osu_allgather", "osu_alltoall")
"""The collectives in which every rank receives something from every other."""
MOST_NODES_OF_FAN = 16
"""OSU 7.4 has room for 1000 requests, and one node waits for a window of 64 messages with each of the others."""
TIMES: tuple[str, ...] = ("time", "time_min", "time_max")


def _of(family: str, *, pairs: bool = False) -> list[str]:
    return [name for name, program in PROGRAMS.items() if program.family == family and program.pairs == pairs]


class Osu(SizedBenchmark):
    """One program of OSU, with the options of its version. Since 7.0 OSU does not measure empty messages."""

    tool = "osu"
    empty = False
    tags = SELDOM
    osu = parameter(loggable=True)
    iterations = variable(int, value=200)
    large_iterations = variable(int, value=10)
    pairs = variable(int, value=0)  # rank pairs of programs that use several; 0 stands for those of the scale
    limit_seconds = 60.0

    @property
    def benchmark_program(self) -> OsuProgram:
        """The parser's description of the program."""
        return PROGRAMS[self.osu]

    @run_after("init")
    def choose(self) -> None:
        self.benchmark, self.family = self.benchmark_program.benchmark, self.benchmark_program.family
        if self.benchmark_program.pairs:
            if self.pairs:
                self.ranks, self.chosen_scale = 2 * self.pairs, None
            self.pairs = self.pairs or self.ranks // 2
            self.case = {**self.case, "pairs": self.pairs}
        if self.benchmark_program.window:
            self.case = {**self.case, "window": WINDOW}
        if self.benchmark_program.window or self.benchmark_program.family == "collective":
            self.largest_bytes = min(self.largest_bytes, 2**20)
        self.smallest_bytes = self.benchmark_program.smallest_bytes(self.ranks)

    @property
    def programs(self) -> Mapping[str, Path]:
        """The stack's programs by name, in the order of ``PROGRAMS``."""
        if self.lane.installed is None:
            return {}
        paths = osu_programs(self.lane.installed).paths
        return {name: paths[name] for name in PROGRAMS if name in paths}

    @property
    def names_of_family(self) -> list[str]:
        """The names of the programs of the family."""
        return [name for name, program in PROGRAMS.items() if program.family == self.benchmark_program.family]

    @property
    def version(self) -> str:
        """The version that a program of the family contains; empty if none does."""
        versions = (osu_version(self.programs[name]) for name in self.names_of_family if name in self.programs)
        return next((version for version in versions if version), "")

    def tool_versions(self) -> dict[str, str]:
        build = self.installed.sources.get("osu") if osu_programs(self.installed).origin == SOURCE else None
        return {"osu": f"{build.text} ({SOURCE})" if build else self.version}

    def family_skip(self) -> tuple[str, str] | None:
        stack, family = self.stack.name, self.benchmark_program.family
        hint = f"run: fabricbench setup {stack} --source OSU, or set {OSU}=DIRECTORY, in which {stack}/ is the prefix"
        if not any(name in self.programs for name in self.names_of_family):
            return f"the OSU micro-benchmarks ({family}) are not installed for {stack}", hint
        if not self.version:
            return f"the OSU micro-benchmarks ({family}) for {stack} contain no version", hint
        if version_of(self.version) < (since := SIZES_SINCE[family]):
            reason = (
                f"OSU {self.version} ({family}) has no option for sizes: small and large messages would share a launch"
            )
            return reason, f"use OSU {'.'.join(map(str, since))} or newer: {hint}"
        return None

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.osu not in self.programs:
            return f"OSU {self.version} for {self.stack.name} has no {self.osu}", "use a newer OSU"
        return None

    def program(self) -> str:
        return str(self.programs[self.osu])

    def arguments(self) -> list[str]:
        sizes = self.sizes()
        count = self.large_iterations if self.messages == "large" else self.iterations
        count = max(2, count // 10) if self.benchmark_program.window else count
        options = ["-m", f"{sizes[0]}:{sizes[-1]}"] if self.benchmark_program.sized else []
        options += ["-i", str(count), "-x", str(max(1, count // 10))]
        if self.benchmark_program.metric == "time":
            options.append("-f")
        if self.checks_data():
            options.append("-c")
        if self.benchmark_program.reduces and version_of(self.version) >= TYPES_SINCE:
            options += ["-T", "mpi_float" if self.benchmark_program.family == "collective" else "mpi_int"]
        return options

    def checks_data(self) -> bool:
        """Whether OSU validates the received data."""
        return (
            self.benchmark_program.validated is not None
            and version_of(self.version) >= self.benchmark_program.validated
        )

    def expected(self) -> Iterator[Expected]:
        metrics = TIMES if self.benchmark_program.metric == "time" else (self.benchmark_program.metric,)
        metrics += ("message_rate",) if self.osu == "osu_mbw_mr" else ()
        for metric in metrics:
            yield Expected(benchmark=self.benchmark, metric=metric, msg_sizes_bytes=self.sizes())


@rfm.simple_test
class OsuPointToPoint(Osu):
    descr = "an OSU point-to-point benchmark"
    osu = parameter(_of("pt2pt"), loggable=True)


@rfm.simple_test
class OsuPairs(Osu):
    """Programs that use several rank pairs at once."""

    descr = "an OSU benchmark of several rank pairs"
    osu = parameter(_of("pt2pt", pairs=True), loggable=True)
    breadth: Breadth = "ends"
    at = parameter(scales(RANK_PAIRS, "ends"), loggable=True)

    @property
    def scale_rule(self) -> ScaleRule:
        return RANK_PAIRS


@rfm.simple_test
class OsuFan(Osu):
    """One rank on each node: all nodes but the first send to it (fan in), or receive from it (fan out)."""

    descr = "OSU's fan in and fan out: bandwidth between one node and all others at once"
    osu = parameter(_of("congestion"), loggable=True)

    def adapt_to_lane(self) -> None:
        self.ranks = min(available_nodes(self.fabric), MOST_NODES_OF_FAN)

    def applies(self) -> bool:
        return self.fabric.nodes.count > 1

    def family_skip(self) -> tuple[str, str] | None:
        if (skip := super().family_skip()) or self.applies():
            return skip
        return "the fabric has a single node, and a fan needs two", "set Nodes(count=…) in the site's settings.py"


class OsuWindow(Osu):
    """One-sided transfers over a window of memory; the measured time includes the synchronisation."""

    sync = variable(str, value="flush", loggable=True)
    win = variable(str, value="create", loggable=True)

    @run_after("init")
    def choose_sync(self) -> None:
        if self.osu == "osu_put_bibw" and self.sync not in ("pscw", "fence"):
            self.sync = "pscw"  # osu_put_bibw supports pscw and fence only
        self.case = {**self.case, "sync": self.sync, "win": self.win}

    def benchmark_skip(self) -> tuple[str, str] | None:
        for name, value, accepted in (("sync", self.sync, SYNCS), ("win", self.win, WINDOWS)):
            if value not in accepted:
                return f"unknown {name} '{value}'", f"choose one of {', '.join(accepted)}"
        return super().benchmark_skip()

    def checks_data(self) -> bool:
        """Whether OSU validates the received data; never for passive targets.

        A passive target reads its memory while the origin continues, and finds a later value (osu_fop_latency of 7.4).
        """
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
    """One collective per launch, so that attestation notices a collective that uses another transport."""

    descr = "an OSU collective"
    osu = parameter([name for name in _of("collective") if PROGRAMS[name].sized], loggable=True)
    breadth: Breadth = "ends"
    at = parameter(scales(COLLECTIVE, "ends"), loggable=True)

    @run_after("init")
    def extend_limit(self) -> None:
        self.limit_seconds = scaled_limit(self.limit_seconds, self.ranks, exchanges=self.osu in EXCHANGES)

    def sizes(self) -> tuple[int, ...]:
        return tuple(size for size in super().sizes() if size * self.ranks <= MEMORY_BYTES)

    def omitted_sizes(self) -> OmittedSizes | None:
        sizes = tuple(size for size in super().sizes() if size * self.ranks > MEMORY_BYTES)
        reason = f"OSU omits sizes of which {self.ranks} messages take more than {MEMORY_BYTES // 2**20} MiB"
        return OmittedSizes(msg_sizes_bytes=sizes, reason=reason) if sizes else None

    def benchmark_skip(self) -> tuple[str, str] | None:
        if not self.sizes() and (omitted := self.omitted_sizes()):
            return omitted.reason, "use fewer ranks"
        return super().benchmark_skip()


@rfm.simple_test
class OsuBarrier(Osu):
    descr = "OSU's barrier"
    osu = parameter(["osu_barrier"], loggable=True)
    breadth: Breadth = "ends"
    at = parameter(scales(COLLECTIVE, "ends"), loggable=True)
    messages = parameter(["small"])

    def expected(self) -> Iterator[Expected]:
        for metric in TIMES:
            yield Expected(benchmark=self.benchmark, metric=metric)
