# SPDX-License-Identifier: Apache-2.0
"""GROMACS with the systems villin, lzm and dppc of Spurgeon et al. 2005, on every stack with a GROMACS for MPI."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, run_after, run_before, variable
from reframe.core.exceptions import ReframeError

from fabricbench.errors import BadInput
from fabricbench.inputs.cache import Found, Missing, find_input, given_names
from fabricbench.inputs.recipes import CHECKED_STEPS, QUICK, SYSTEMS
from fabricbench.launch.facts import Expected, joined_case
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.gromacs import REFERENCE, read_reference

from .base import SELDOM, Benchmark
from .base.cores import CoresMixin, rank_counts

RANKS = "FABRICBENCH_GROMACS_RANKS"
"""Numbers of ranks that replace the powers of two up to the number of cores."""
RANK_COUNTS = rank_counts(RANKS, "numbers of at least 1, as in 1,2,6,12", lambda count: count >= 1)
QUICK_RANKS = max((count for count in RANK_COUNTS if count <= 8), default=RANK_COUNTS[0])
"""A small system such as villin cannot be divided into more domains."""
ATOMS_PER_RANK = 100
"""The atoms of the smallest domain, which is as wide as the cut-off: about 100 atoms fill a cubic nanometre."""
STEPS = {"villin": 500, "lzm": 600, "dppc": 100}
"""Numbers of steps that take some seconds on two cores."""


def md_systems() -> list[str]:
    """Returns the names of all systems, the user's included; raises ReframeError if the user's folder is wrong."""
    try:
        return sorted({*SYSTEMS, *given_names()})
    except BadInput as error:
        raise ReframeError(error) from None


@cache
def known_input(name: str, copies: int) -> Found | Missing:
    """Returns the ``.tpr`` of a system, or the reason why there is none. Finds and hashes it once per process."""
    try:
        return find_input(name, copies)
    except BadInput as error:
        return Missing(str(error), "")


class Mdrun(CoresMixin, Benchmark):
    """A run of ``gmx_mpi mdrun`` with one system and a fixed number of steps."""

    tool = "gromacs"
    family = "gromacs"
    threaded = True  # mdrun pins its threads
    md_system = parameter(md_systems(), loggable=True)
    np = parameter(RANK_COUNTS, loggable=True)
    threads = variable(int, value=1, loggable=True)
    copies = variable(int, value=1, loggable=True)
    limit_seconds = 600.0

    @run_after("init")
    def choose(self) -> None:
        self.benchmark, self.ranks = self.md_system, self.np
        varied = {"threads": self.threads, "copies": self.copies}
        self.case = {name: count for name, count in varied.items() if count != 1}

    @property
    def workers(self) -> int:
        return int(self.ranks * self.threads)

    def tool_versions(self) -> dict[str, str]:
        build = self.installed.gromacs
        versions = {"gromacs": f"{build.version} {build.precision} {build.simd}" if build else ""}
        if isinstance(tpr := self.input, Found):
            versions["input"] = tpr.sha256
            if tpr.facts:
                versions["atoms"] = str(tpr.facts.atoms)
        return versions

    def lane_variables(self) -> dict[str, str]:
        """Overrides a number of threads in the user's environment, which mdrun would refuse if it differs."""
        return super().lane_variables() | {"OMP_NUM_THREADS": str(self.threads)}

    def family_skip(self) -> tuple[str, str] | None:
        stack, build = self.stack.name, self.installed.gromacs
        hint = f"spack install gromacs+mpi ^{stack}; then FABRICBENCH_GROMACS=DIRECTORY fabricbench setup"
        if build is None:
            return f"no GROMACS with MPI is installed for {stack}", hint
        if build.problem:
            return f"GROMACS on {stack}: {build.problem}", hint
        if not Path(build.program).exists():
            return f"{build.program} no longer exists", f"install it, then: fabricbench setup --again {stack}"
        return None

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.threads < 1:
            return f"{self.threads} threads", "choose at least 1"
        tpr = self.input
        if isinstance(tpr, Missing):
            return tpr.reason, tpr.hint
        if tpr.facts and tpr.facts.atoms < ATOMS_PER_RANK * self.ranks:
            return f"{self.md_system}'s {tpr.facts.atoms} atoms are too few for {self.ranks} ranks", "use more copies"
        return super().benchmark_skip()

    @property
    def input(self) -> Found | Missing:
        """The ``.tpr`` of the system, or the reason why there is none."""
        return known_input(self.md_system, self.copies)

    def program(self) -> str:
        return str(self.installed.gromacs.program)

    def arguments(self) -> list[str]:
        files = ["-s", str(self.input.tpr), "-g", "md.log", "-noconfout", "-cpt", "-1"]
        placed = ["-ntomp", str(self.threads), "-pin", "on"]
        return ["mdrun", *files, *placed, "-nsteps", str(self.step_count()), *self.mode_options()]

    def step_count(self) -> int:
        """Returns the number of steps."""
        raise NotImplementedError

    def mode_options(self) -> list[str]:
        """Returns the options of mdrun for this kind of run."""
        raise NotImplementedError


@rfm.simple_test
class Gromacs(Mdrun):
    """A timed run.

    mdrun resets its timers after half of the steps, when the load is balanced. It does not tune PME, which would change
    the work.
    """

    descr = "GROMACS, simulated time per day"
    steps = variable(int, value=0, loggable=True)  # 0 stands for STEPS

    @run_after("init")
    def choose_tier(self) -> None:
        if self.md_system != QUICK or self.np != QUICK_RANKS:
            self.tags = SELDOM
        if self.steps:
            self.case = {**self.case, "steps": self.steps}

    def step_count(self) -> int:
        return int(self.steps or STEPS.get(self.md_system, STEPS["dppc"]))

    def mode_options(self) -> list[str]:
        return ["-resethway", "-notunepme", "-dlb", "auto"]

    def expected(self) -> Iterator[Expected]:
        for metric in ("ns_per_day", "run_time", "communication_time"):
            yield Expected(benchmark=self.benchmark, metric=metric)


@rfm.simple_test
class GromacsEnergies(Mdrun):
    """A run in GROMACS's reproducible mode, compared with a reference in double precision that belongs to the input."""

    descr = "GROMACS, energies at the first and last of a few steps"
    tags = SELDOM
    mode = "checked"

    def step_count(self) -> int:
        return CHECKED_STEPS

    def mode_options(self) -> list[str]:
        return ["-reprod"]

    @property
    def launch_id(self) -> str:
        """The identity, distinct from that of the timed run with the same system and ranks."""
        return f"{super().launch_id} energies"

    def benchmark_skip(self) -> tuple[str, str] | None:
        if skip := super().benchmark_skip():
            return skip
        file = self.input.reference
        if not file.exists():
            own = f"install gmx_d, then run: fabricbench inputs {self.md_system}"
            hint = own if self.input.facts else f"put them into {file} (docs/gromacs.md)"
            return f"there are no reference energies of {self.md_system} in double precision", hint
        again = f"delete it, and run: fabricbench inputs {self.md_system}"
        try:
            known = read_reference(file).sha256
        except Unreadable as error:
            return f"{file} is not a valid reference: {error}", again
        return None if known == self.input.sha256 else (f"{file} belongs to another input", again)

    @run_before("run")
    def copy_reference(self) -> None:
        """Copies the reference into the launch directory: a record is derived from that directory only."""
        shutil.copyfile(self.input.reference, Path(self.stagedir) / REFERENCE)

    def expected(self) -> Iterator[Expected]:
        for step in (0, CHECKED_STEPS):
            case = joined_case(self.case, f"step={step}")
            yield Expected(benchmark=self.benchmark, case=case, metric="energy_deviation")
