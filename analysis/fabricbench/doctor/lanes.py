# SPDX-License-Identifier: Apache-2.0
"""Diagnoses lanes: whether each can run on this machine, and otherwise the reason and a hint."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricbench.errors import BadInput
from fabricbench.setup.gromacs.builds import better_simd, processor_flags
from fabricbench.setup.probe import probe
from fabricbench.site.lane import Lane
from fabricbench.site.profilers import Profiler, profiler_of
from fabricbench.site.settings import build_root, lanes, settings_file
from fabricbench.site.stacks import GromacsBuild, Installed
from fabricbench.slurm.allocation import request_of

if TYPE_CHECKING:
    from fabricbench.doctor.site import Problem


@dataclass(frozen=True, slots=True)
class LaneDiagnosis:
    """Whether a lane is ready. ``detail``: what is installed, or the reason why it is not ready."""

    lane: str
    ready: bool
    detail: str
    hint: str


def examine(candidates: Iterable[Lane]) -> Iterator[LaneDiagnosis]:
    """Starts two ranks on each lane, and yields the lane's diagnosis."""
    for lane in candidates:
        if lane.unavailable is not None or lane.installed is None:
            yield LaneDiagnosis(lane.name, False, *(lane.unavailable or ("", "")))
            continue
        request = request_of(lane.fabric)
        if request and lane.pmi is None:
            detail, hint = "its own launcher needs an allocation", "not checked: reframe -r tries it"
            yield LaneDiagnosis(lane.name, False, detail, hint)
            continue
        launcher = request.two_ranks(lane.pmi) if request and lane.pmi is not None else ()
        outcome = probe(lane.installed, lane.variables(), lane.handshake, launcher)
        if outcome.problem:
            log = build_root() / "stacks" / lane.stack.name / "setup.log"
            hint = f"see {log}; settings: site/stacks.py; set it up again: fabricbench setup --again {lane.stack.name}"
            yield LaneDiagnosis(lane.name, False, outcome.problem, hint)
        else:
            detail = f"{outcome.library} ({lane.installed.source}){_beside(lane.installed)}"
            yield LaneDiagnosis(lane.name, True, detail, "")


def _beside(installed: Installed) -> str:
    """Describes IMB's missing programs, whose benchmarks are skipped, and the stack's GROMACS, as text."""
    if installed.programs:
        return ""
    imb = "; no IMB (skipped)" if not installed.imb else "; no IMB-MT (skipped)" if installed.imb_mt_problem else ""
    return imb + _gromacs(installed.gromacs) + _profiler(profiler_of(installed))


def _profiler(profiler: Profiler) -> str:
    if profiler.problem:
        return f"; no profiler (skipped): {profiler.problem}"
    return f"; TAU {profiler.version}".rstrip() if profiler.name == "tau" else "; no TAU: this project's profiler"


def _gromacs(build: GromacsBuild | None) -> str:
    if build is None:
        return "; no GROMACS (skipped)"
    if build.problem:
        return f"; GROMACS (skipped): {build.problem}"
    better = better_simd(build.simd, processor_flags())
    slow = f", built for less than this processor's {better}" if better else ""
    return f"; GROMACS {build.version}, {build.precision} precision, SIMD {build.simd}{slow}, {build.mpi_library}"


def examine_site(system: str, selection: Collection[str] = ()) -> "tuple[list[Problem], str]":
    """The problems of a site, or of the fabrics of the ``selection`` lanes only, and its contents in one line.

    The line is empty if the site cannot be read.
    """
    from fabricbench.doctor.site import check_requirements, site_problems

    problems = site_problems(system, selection)
    try:
        site_lanes, number = lanes(system), check_requirements(system)
    except BadInput:
        return problems, ""
    requirements = "no requirements" if number is None else f"{number} requirements"
    names = " ".join(lane.name for lane in site_lanes)
    return problems, f"{settings_file(system)}: {requirements}, {len(site_lanes)} lanes: {names}"
