# SPDX-License-Identifier: Apache-2.0
"""The NAS parallel benchmarks IS, CG and FT: this project's kernels on every lane, NASA's programs if installed."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.launch.facts import Expected
from fabricbench.parsers.tools.npb import CLASSES, KERNELS, PROBLEMS
from fabricbench.site.lane import Lane
from fabricbench.site.programs import NASA, SOURCE, Programs, npb_programs
from fabricbench.site.scale import Breadth, ScaleRule
from fabricbench.site.stacks import SourceBuild
from fabricbench.site.targets import Target, flags_of_nodes, in_words, lacking_on, set_up_for

from .base import LEVELS, SELDOM, Benchmark, InjectedMixin, ProfiledMixin, scales
from .base.cores import SHARE_OF_MEMORY, CoresMixin, node_memory, rank_counts
from .base.lane import gromacs_stacks, lanes

LIMIT_SECONDS = dict(zip(CLASSES, (60.0, 60.0, 120.0, 600.0, 3600.0, 28800.0), strict=True))
RANKS = "FABRICBENCH_NPB_RANKS"
"""Numbers of ranks that replace the scales of the tiers. Oversubscribed launches are verified and not timed."""

RANK_COUNTS = rank_counts(RANKS, "powers of two, as in 1,2,4", lambda count: count.bit_count() == 1)
STANDARD_CLASS = "A"
QUICK_CLASS = "W"
"""The class of the quick tier: a launch takes half a second at most, where class A takes up to two."""
RULE = ScaleRule(
    power_of_two=True,
    quick_ranks=min(PROBLEMS[kernel, QUICK_CLASS].most_ranks for kernel in KERNELS),
)
"""On one node, the quick tier has the largest number of ranks that all kernels of its class support."""
WITH_MESSAGES = replace(RULE, least_ranks=2)
"""The scales of launches with a profile or with delayed messages: one rank sends nothing."""


class NasKernel(CoresMixin, Benchmark):
    """One kernel of one class on a number of ranks, a power of two by the rules of NPB."""

    tool = "npb"
    tags = SELDOM
    kernel = parameter(KERNELS, loggable=True)
    at = parameter(scales(RULE, counts=RANK_COUNTS), loggable=True)
    problem_class = variable(str, value=STANDARD_CLASS, loggable=True)
    limit_seconds = 0.0  # 0 stands for the limit of the class
    worker_noun = "ranks"
    rebuild_hint = ""
    """What else is needed to build the program for another processor."""

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = f"{self.kernel.lower()}.{self.problem_class}"
        self.limit_seconds = self.limit_seconds or LIMIT_SECONDS.get(self.problem_class, max(LIMIT_SECONDS.values()))

    @property
    def scale_rule(self) -> ScaleRule:
        return RULE

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.problem_class not in CLASSES:
            return f"NPB has no class '{self.problem_class}'", f"choose one of {', '.join(CLASSES)}"
        if skip := super().benchmark_skip():
            return skip
        problem = PROBLEMS[self.kernel, self.problem_class]
        if not problem.least_ranks <= self.ranks <= problem.most_ranks:
            return (
                f"{self.benchmark} runs on {problem.least_ranks} to {problem.most_ranks} ranks, not on {self.ranks}",
                "choose another class",
            )
        required, memory = problem.bytes(self.kernel) / self.nodes, node_memory(self.current_partition)
        if required > SHARE_OF_MEMORY * memory.bytes:
            where = "on the node" if self.nodes == 1 else f"on each of {self.nodes} nodes"
            reason = f"{self.benchmark} needs {required / 1e9:.1f} GB {where}, which has {memory.gigabytes}"
            return reason, "choose a smaller class"
        return self.processor_skip() if Path(self.program()).exists() else self.missing_program()

    def processor_skip(self) -> tuple[str, str] | None:
        """Returns a skip if the program was built for instructions that the nodes' processors lack."""
        target, fabric = self.target(), self.fabric
        lacking = lacking_on(target, fabric)
        if target is None or not lacking:
            return None
        name = Path(self.program()).name
        reason = f"{name} was built for {target.text}, and the processors of the nodes lack {in_words(lacking)}"
        return reason, f"run: {set_up_for(flags_of_nodes(fabric) or ())}{self.rebuild_hint}"

    def oversubscription_hint(self) -> str:
        allowed = self.oversubscribe or os.environ.get(RANKS)
        return "" if allowed else f"use larger nodes, or name the numbers of ranks in {RANKS}"

    def missing_program(self) -> tuple[str, str]:
        """Returns the reason and the hint if there is no executable."""
        raise NotImplementedError

    def expected(self) -> Iterator[Expected]:
        for metric in ("mops", "run_time"):
            yield Expected(benchmark=self.benchmark, metric=metric)


class OwnKernel(NasKernel):
    """This project's own program of a kernel."""

    case = {"code": "own"}

    @property
    def named_case(self) -> str:
        """The case without ``code``, as the ids of launches had it before there was one."""
        return " ".join(word for word in super().named_case.split() if word != "code=own")

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-{self.kernel.lower()}"

    def target(self) -> Target | None:
        return self.installed.target

    def arguments(self) -> list[str]:
        return ["--class", self.problem_class, "--timers"]

    def missing_program(self) -> tuple[str, str]:
        stack = self.stack.name
        if self.kernel == "IS":
            return f"{stack} was set up without fabricbench-is", f"run: fabricbench setup --again {stack}"
        why = f": {self.installed.fortran_problem}" if self.installed.fortran_problem else ""
        return (
            f"{self.kernel} is written in Fortran, and {stack} was set up without{why}",
            f"install gfortran and a {stack} with mpif90, then run: fabricbench setup --again {stack}",
        )

    def expected(self) -> Iterator[Expected]:
        yield from super().expected()
        yield Expected(benchmark=self.benchmark, metric="communication_time")


@rfm.simple_test
class NPB(OwnKernel):
    descr = "a NAS kernel, this project's program"


@rfm.simple_test
class NasQuick(OwnKernel):
    descr = "a NAS kernel of the quick tier, this project's program"
    tags = {"quick", *SELDOM}
    breadth: Breadth = "smallest"
    at = parameter(scales(RULE, "smallest", RANK_COUNTS), loggable=True)
    problem_class = QUICK_CLASS


@rfm.simple_test
class NasProfile(ProfiledMixin, OwnKernel):
    """The profile that belongs to the timed launches of ``NPB`` on the same ranks."""

    descr = "a NAS kernel under an MPI profiler, this project's program"
    breadth: Breadth = "ends_between_nodes"
    at = parameter(scales(WITH_MESSAGES, "ends_between_nodes", RANK_COUNTS), loggable=True)

    @property
    def scale_rule(self) -> ScaleRule:
        return WITH_MESSAGES


@rfm.simple_test
class NasQuickProfile(ProfiledMixin, OwnKernel):
    """The profile that belongs to the timed launches of ``NasQuick``, on the stacks that have GROMACS."""

    descr = "a NAS kernel of the quick tier under an MPI profiler, this project's program"
    tags = {"quick"}
    breadth: Breadth = "smallest"
    at = parameter(scales(RULE, "smallest", RANK_COUNTS), loggable=True)
    problem_class = QUICK_CLASS

    @run_after("init")
    def choose_stacks(self) -> None:
        self.valid_prog_environs = gromacs_stacks()


if LEVELS:

    @rfm.simple_test
    class NPBInjected(InjectedMixin, OwnKernel):
        """The launches with delayed messages that belong to the timed launches of ``NPB`` on the same ranks."""

        descr = "a NAS kernel with delayed messages, this project's program"
        breadth: Breadth = "ends_between_nodes"
        at = parameter(scales(WITH_MESSAGES, "ends_between_nodes", RANK_COUNTS), loggable=True)

        @property
        def scale_rule(self) -> ScaleRule:
            return WITH_MESSAGES

    @rfm.simple_test
    class NasQuickInjected(InjectedMixin, OwnKernel):
        """The launches with delayed messages that belong to the timed launches of ``NasQuick``."""

        descr = "a NAS kernel of the quick tier with delayed messages, this project's program"
        tags = {"quick", *SELDOM}
        breadth: Breadth = "smallest"
        at = parameter(scales(RULE, "smallest", RANK_COUNTS), loggable=True)
        problem_class = QUICK_CLASS


TIMERS = {"NPB_TIMER_FLAG": "1"}
"""The variable with which NASA's programs (NPB 3.4) time their phases, communication included."""


def nasa_programs(lane: Lane) -> Programs | None:
    """Returns NASA's programs for a stack; None if it has none."""
    return npb_programs(lane.installed) if lane.installed else None


if os.environ.get(NASA) or any(map(nasa_programs, lanes())):

    @rfm.simple_test
    class NPBNasa(NasKernel):
        """NASA's programs. Their output and metrics are the same; the case ``code=nasa`` separates their cells."""

        descr = "a NAS kernel, NASA's own program"
        case = {"code": "nasa"}

        def lane_variables(self) -> dict[str, str]:
            return super().lane_variables() | TIMERS

        def expected(self) -> Iterator[Expected]:
            yield from super().expected()
            if self.ranks > 1:  # FT omits a timer of 0, as that of communication on one rank may be
                yield Expected(benchmark=self.benchmark, metric="communication_time")

        def program(self) -> str:
            name = f"{self.kernel.lower()}.{self.problem_class}.x"
            programs = nasa_programs(self.lane)
            return str(programs.paths.get(name, name)) if programs else name

        def arguments(self) -> list[str]:
            return []

        rebuild_hint = ", then name the source again: fabricbench setup --source NPB"

        def source_build(self) -> SourceBuild | None:
            """Returns the build by ``setup --source`` that has the program; None if it comes from elsewhere."""
            programs = nasa_programs(self.lane)
            return self.installed.sources.get("npb") if programs and programs.origin == SOURCE else None

        def target(self) -> Target | None:
            build = self.source_build()
            return build.target if build else None

        def tool_versions(self) -> dict[str, str]:
            programs, build = nasa_programs(self.lane), self.source_build()
            version = f"{build.text} ({SOURCE})" if build else programs.version if programs else ""
            return {"npb": version} if version else {}

        def missing_program(self) -> tuple[str, str]:
            stack = self.stack.name
            hint = f"run: fabricbench setup {stack} --source NPB, or build NPB 3.4 on it and set {NASA}=DIRECTORY"
            programs = nasa_programs(self.lane)
            if programs is None or not programs.paths:
                return f"NASA's programs are not installed for {stack}", hint
            hint = f"run: fabricbench setup {stack} --source NPB --option npb.classes='S W A B C'"
            return f"NASA's programs for {stack} do not include {Path(self.program()).name}", hint
