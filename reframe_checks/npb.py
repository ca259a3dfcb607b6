# SPDX-License-Identifier: Apache-2.0
"""The NAS parallel benchmarks IS, CG and FT: the own kernels on every lane, NASA's programs where a stack has them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable
from reframe.core.runtime import runtime

from fabricbench.launch.facts import Expected
from fabricbench.parsers.tools.npb import CLASSES, KERNELS, PROBLEMS

from .base import SELDOM, Benchmark
from .base.cores import SHARE_OF_MEMORY, node_memory_bytes, processors, rank_counts

LIMIT_SECONDS = dict(zip(CLASSES, (60.0, 60.0, 120.0, 600.0, 3600.0, 28800.0), strict=True))
NASA = "FABRICBENCH_NPB"
"""Names a directory that holds ``<stack>/<kernel>.<CLASS>.x``, NASA's programs built on each stack."""
RANKS = "FABRICBENCH_NPB_RANKS"
"""Numbers of ranks in place of 1 to the node's cores, beyond them too: such launches verify, and time nothing."""


RANK_COUNTS = rank_counts(RANKS, "powers of two, as in 1,2,4", lambda count: count.bit_count() == 1)
STANDARD_CLASS = "A"
QUICK_CLASS = "W"
"""The class of the quick tier: a launch takes half a second at most, where class A takes up to two."""
QUICK_RANKS = max(
    (count for count in RANK_COUNTS if all(count <= PROBLEMS[kernel, QUICK_CLASS].most_ranks for kernel in KERNELS)),
    default=RANK_COUNTS[0],
)
"""The most ranks on which all kernels of the quick class run."""


class NasKernel(Benchmark):
    """One kernel of one class on so many ranks. NPB's rules allow powers of two."""

    tool = "npb"
    tags = SELDOM
    kernel = parameter(KERNELS, loggable=True)
    np = parameter(RANK_COUNTS, loggable=True)
    problem_class = variable(str, value=STANDARD_CLASS, loggable=True)
    limit_seconds = 0.0  # the class's own, unless given

    @property
    def oversubscribed(self) -> bool:
        return bool(self.ranks > processors(self.current_partition))

    def enter_lane(self) -> None:
        if self.oversubscribed:
            self.mode = "checked"
        super().enter_lane()

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = f"{self.kernel.lower()}.{self.problem_class}"
        self.ranks = self.np
        self.limit_seconds = self.limit_seconds or LIMIT_SECONDS.get(self.problem_class, max(LIMIT_SECONDS.values()))

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.problem_class not in CLASSES:
            return f"NPB has no class '{self.problem_class}'", f"choose one of {', '.join(CLASSES)}"
        if self.oversubscribed and not os.environ.get(RANKS):
            cores = processors(self.current_partition)
            return f"{self.ranks} ranks on {cores} cores", f"choose fewer ranks, or name them in {RANKS}"
        problem = PROBLEMS[self.kernel, self.problem_class]
        if not problem.least_ranks <= self.ranks <= problem.most_ranks:
            return (
                f"{self.benchmark} runs on {problem.least_ranks} to {problem.most_ranks} ranks, not on {self.ranks}",
                "choose another class",
            )
        needed, memory = problem.bytes(self.kernel) / self.nodes, node_memory_bytes(self.current_partition)
        if needed > SHARE_OF_MEMORY * memory:
            on = "the node has" if self.nodes == 1 else f"on each of {self.nodes} nodes, which have"
            return f"{self.benchmark} needs {needed / 1e9:.1f} GB, {on} {memory / 1e9:.1f} GB", "choose a smaller class"
        return None if Path(self.program()).exists() else self.missing_program()

    def missing_program(self) -> tuple[str, str]:
        """What to say where there is no executable."""
        raise NotImplementedError

    def expected(self) -> Iterator[Expected]:
        for metric in ("mops", "run_time"):
            yield Expected(benchmark=self.benchmark, metric=metric)


class OwnKernel(NasKernel):
    """This project's own program of a kernel."""

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-{self.kernel.lower()}"

    def arguments(self) -> list[str]:
        return ["--class", self.problem_class, "--timers"]

    def missing_program(self) -> tuple[str, str]:
        stack = self.stack_facts["stack"]
        if self.kernel == "IS":
            return f"{stack} was set up without fabricbench-is", f"run: fabricbench setup --again {stack}"
        return (
            f"{self.kernel} is written in Fortran, and {stack} was set up without",
            f"install gfortran and a {stack} with mpif90, then run: fabricbench setup --again {stack}",
        )

    def expected(self) -> Iterator[Expected]:
        yield from super().expected()
        yield Expected(benchmark=self.benchmark, metric="communication_time")


@rfm.simple_test
class NPB(OwnKernel):
    descr = "a NAS kernel, this project's own"


@rfm.simple_test
class NasQuick(OwnKernel):
    descr = "a NAS kernel of the quick tier, this project's own"
    tags = {"quick", *SELDOM}
    np = parameter([QUICK_RANKS], loggable=True)
    problem_class = QUICK_CLASS


def nasa_folder(stack: Mapping[str, Any]) -> Path | None:
    """Where a stack's own programs of NASA's are: the directory that is named, or its Spack view."""
    if named := os.environ.get(NASA):
        return Path(named, stack["stack"]).resolve()
    installed = stack.get("installed")
    in_view = Path(installed["apps"], "bin") if installed else None
    return in_view if in_view and any(in_view.glob("is.?.x")) else None


if os.environ.get(NASA) or any(
    nasa_folder(stack.extras) for partition in runtime().system.partitions for stack in partition.environs
):

    @rfm.simple_test
    class NPBNasa(NasKernel):
        """The same report form, so the same parser and metrics; ``code=nasa`` keeps its cells apart."""

        descr = "a NAS kernel, NASA's own program"
        case = {"code": "nasa"}

        def program(self) -> str:
            folder = nasa_folder(self.stack_facts)
            return str((folder or Path()) / f"{self.kernel.lower()}.{self.problem_class}.x")

        def arguments(self) -> list[str]:
            return []

        def missing_program(self) -> tuple[str, str]:
            stack = self.stack_facts["stack"]
            if nasa_folder(self.stack_facts) is None:
                return (
                    f"no programs of NASA's for {stack}",
                    f"build NPB 3.4 on {stack} and name its directory in {NASA}",
                )
            return f"no {self.program()}", f"build NPB 3.4 on {stack} and put it there"
