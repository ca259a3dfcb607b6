# SPDX-License-Identifier: Apache-2.0
"""GROMACS with villin, lzm and dppc, the systems of Spurgeon et al. 2005, on every stack that has it with MPI."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, run_after, run_before, variable
from reframe.core.exceptions import ReframeError

from fabricbench.errors import BadInput
from fabricbench.inputs.cache import MissingInput, RunInput, find_input, user_input_names
from fabricbench.inputs.systems import CHECKED_STEPS, QUICK, known_systems
from fabricbench.launch.facts import Expected, joined_case
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.gromacs import REFERENCE, read_reference
from fabricbench.site.scale import Breadth, ScaleRule

from .base import LEVELS, SELDOM, Benchmark, InjectedMixin, ProfiledMixin, scales
from .base.cores import rank_counts
from .base.threads import ThreadsMixin

RANKS = "FABRICBENCH_GROMACS_RANKS"
"""Numbers of ranks that replace the scales of the tiers."""
RANK_COUNTS = rank_counts(RANKS, "numbers of at least 1, as in 1,2,6,12", lambda count: count >= 1)
RULE = ScaleRule(quick_ranks=8)
"""On one node the quick tier has up to 8 ranks: villin is too small for more domains."""
WITH_MESSAGES = replace(RULE, least_ranks=2)
"""The scales of launches with a profile or with delayed messages: one rank sends nothing."""
QUICK_SCALES = scales(RULE, "smallest", RANK_COUNTS)
ATOMS_PER_RANK = 100
"""Fewest atoms per rank: a cubic nanometre, the least size of a domain, holds this many."""
STEPS = {"villin": 200, "lzm": 600, "dppc": 100}
"""Steps of a launch; a few seconds on two cores."""


def md_systems() -> list[str]:
    """Names of the committed systems and of the user's; ReframeError if the user's directory is missing."""
    try:
        return sorted({*known_systems(), *user_input_names()})
    except BadInput as error:
        raise ReframeError(error) from None


@cache
def known_input(name: str, copies: int) -> RunInput | MissingInput:
    """Returns the ``.tpr``, or the reason why there is none. Reads and hashes each file once for all launches."""
    try:
        return find_input(name, copies)
    except BadInput as error:
        return MissingInput(str(error), "")


class Mdrun(ThreadsMixin, Benchmark):
    """A run of ``gmx_mpi mdrun`` with one system and a fixed number of steps. mdrun pins its threads."""

    tool = "gromacs"
    family = "gromacs"
    md_system = parameter(md_systems(), loggable=True)
    at = parameter(scales(RULE, counts=RANK_COUNTS), loggable=True)
    copies = variable(int, value=1, loggable=True)
    limit_seconds = 600.0

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.md_system
        varied = {"threads": self.threads, "copies": self.copies}
        self.case = {name: count for name, count in varied.items() if count != 1}

    @property
    def scale_rule(self) -> ScaleRule:
        return RULE

    def tool_versions(self) -> dict[str, str]:
        build = self.installed.gromacs
        versions = {"gromacs": f"{build.version} {build.precision} {build.simd}" if build else ""}
        if isinstance(run_input := self.known_input, RunInput):
            versions["input"] = run_input.sha256
            if run_input.record:
                versions["atoms"] = str(run_input.record.atoms)
        return versions

    def family_skip(self) -> tuple[str, str] | None:
        stack, build = self.stack.name, self.installed.gromacs
        hint = f"run: fabricbench setup {stack} --source GROMACS, or FABRICBENCH_GROMACS=DIRECTORY fabricbench setup"
        if build is None:
            return f"no GROMACS with MPI is installed for {stack}", hint
        if build.problem:
            return f"GROMACS on {stack}: {build.problem}", hint
        if not Path(build.program).exists():
            return f"{build.program} does not exist any more", f"install it, then: fabricbench setup --again {stack}"
        return None

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.threads < 1:
            return f"{self.threads} threads", "choose at least 1"
        run_input = self.known_input
        if isinstance(run_input, MissingInput):
            return run_input.reason, run_input.hint
        record = run_input.record
        if record and record.atoms < ATOMS_PER_RANK * self.ranks:
            return f"{self.md_system}'s {record.atoms} atoms are too few for {self.ranks} ranks", "use more copies"
        return super().benchmark_skip()

    @property
    def known_input(self) -> RunInput | MissingInput:
        """The ``.tpr`` of the system, or the reason why there is none."""
        return known_input(self.md_system, self.copies)

    @property
    def input(self) -> RunInput:
        """The ``.tpr`` of the system. The launch is skipped if there is none."""
        run_input = self.known_input
        assert isinstance(run_input, RunInput), run_input.reason
        return run_input

    def program(self) -> str:
        build = self.installed.gromacs
        assert build is not None, "family_skip skips launches without GROMACS"
        return build.program

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


class TimedMdrun(Mdrun):
    """A run without PME tuning, as that would change the work, on a chosen number of steps."""

    steps = variable(int, value=0, loggable=True)  # 0: STEPS of the system

    @run_after("init")
    def choose_tier(self) -> None:
        if self.md_system != QUICK or self.at not in QUICK_SCALES:
            self.tags = self.tags & SELDOM
        if self.steps:
            self.case = {**self.case, "steps": self.steps}

    def step_count(self) -> int:
        return int(self.steps or STEPS.get(self.md_system, STEPS["dppc"]))

    def mode_options(self) -> list[str]:
        return ["-notunepme", "-dlb", "auto"]

    def expected(self) -> Iterator[Expected]:
        for metric in ("ns_per_day", "run_time", "communication_time"):
            yield Expected(benchmark=self.benchmark, metric=metric)


class BalancedMdrun(TimedMdrun):
    """Counts the second half of the steps, after load balancing."""

    def mode_options(self) -> list[str]:
        return ["-resethway", *super().mode_options()]


@rfm.simple_test
class Gromacs(BalancedMdrun):
    descr = "GROMACS, simulated time a day"


if LEVELS:

    @rfm.simple_test
    class GromacsInjected(InjectedMixin, BalancedMdrun):
        """The launches with delayed messages that belong to the timed launches of ``Gromacs`` on the same ranks."""

        descr = "GROMACS with delayed messages"
        breadth: Breadth = "ends_between_nodes"
        at = parameter(scales(WITH_MESSAGES, "ends_between_nodes", RANK_COUNTS), loggable=True)

        @property
        def scale_rule(self) -> ScaleRule:
            return WITH_MESSAGES


class WholeMdrun(TimedMdrun):
    """Counts all steps, as a profile does: half as many steps as ``Gromacs`` does, so that both count the same number.

    The case ``counted=all`` separates it from ``Gromacs``. Steps that the user sets are run as they are.
    """

    breadth: Breadth = "ends_between_nodes"
    at = parameter(scales(WITH_MESSAGES, "ends_between_nodes", RANK_COUNTS), loggable=True)

    @property
    def scale_rule(self) -> ScaleRule:
        return WITH_MESSAGES

    @run_after("init")
    def count_all_steps(self) -> None:
        self.case = {**self.case, "counted": "all"}

    def step_count(self) -> int:
        return self.steps or super().step_count() // 2


@rfm.simple_test
class GromacsWhole(WholeMdrun):
    descr = "GROMACS, all steps counted"


@rfm.simple_test
class GromacsProfile(ProfiledMixin, WholeMdrun):
    """The profile that belongs to the timed launches of ``GromacsWhole``."""

    descr = "GROMACS under an MPI profiler"


@rfm.simple_test
class GromacsEnergies(Mdrun):
    """Runs in GROMACS's reproducible mode, and compares energies with the input's reference in double precision."""

    descr = "GROMACS, energies at the first and last of a few steps"
    tags = SELDOM
    mode = "checked"
    breadth: Breadth = "ends_between_nodes"
    at = parameter(scales(RULE, "ends_between_nodes", RANK_COUNTS), loggable=True)

    def step_count(self) -> int:
        return CHECKED_STEPS

    def mode_options(self) -> list[str]:
        return ["-reprod"]

    @property
    def launch_id(self) -> str:
        """The id, unlike that of the timed run of the same system and ranks."""
        return f"{super().launch_id} energies"

    def benchmark_skip(self) -> tuple[str, str] | None:
        if skip := super().benchmark_skip():
            return skip
        file = self.input.reference
        if not file.exists():
            own = f"install gmx_d, then run: fabricbench inputs {self.md_system}"
            hint = own if self.input.record else f"put them into {file} (docs/gromacs.md)"
            return f"there are no reference energies of {self.md_system} in double precision", hint
        again = f"delete it, and run: fabricbench inputs {self.md_system}"
        try:
            digest = read_reference(file).sha256
        except Unreadable as error:
            return f"{file} is not a valid reference: {error}", again
        return None if digest == self.input.sha256 else (f"{file} belongs to another input", again)

    @run_before("run")
    def copy_reference(self) -> None:
        """Copies the reference to the launch directory, the only one that the parser reads."""
        shutil.copyfile(self.input.reference, Path(self.stagedir) / REFERENCE)

    def expected(self) -> Iterator[Expected]:
        for step in (0, CHECKED_STEPS):
            case = joined_case(self.case, f"step={step}")
            yield Expected(benchmark=self.benchmark, case=case, metric="energy_deviation")
