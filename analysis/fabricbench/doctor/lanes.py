# SPDX-License-Identifier: Apache-2.0
"""Diagnoses lanes: whether each can run on this machine, and otherwise the reason and a hint."""

import math
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fabricbench.errors import BadInput
from fabricbench.setup.gromacs.builds import better_simd
from fabricbench.setup.probe import probe
from fabricbench.site.lane import Lane
from fabricbench.site.profilers import TAU, profiler_of
from fabricbench.site.programs import SOURCE, npb_programs, osu_programs, osu_version
from fabricbench.site.settings import build_root, lanes, settings_file
from fabricbench.site.spack import package_of
from fabricbench.site.stacks import Installed
from fabricbench.site.targets import processor_flags
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
            detail = "not checked: the stack's own launcher runs only inside an allocation"
            hint = "run reframe -r, which requests one"
            yield LaneDiagnosis(lane.name, False, detail, hint)
            continue
        tasks = 2 if lane.stack.level == "mpi" or lane.fabric.between_nodes else 1  # client and server are one task
        minutes = math.ceil(lane.fabric.slowdown)
        launcher = request.tasks(tasks, lane.pmi, minutes) if request and lane.pmi is not None else ()
        outcome = probe(lane.installed, lane.variables(), lane.handshake, launcher, lane.fabric.slowdown)
        if outcome.problem:
            log = build_root() / "stacks" / lane.stack.name / "setup.log"
            hint = f"see {log}; settings: site/stacks.py; set it up again: fabricbench setup --again {lane.stack.name}"
            yield LaneDiagnosis(lane.name, False, outcome.problem, hint)
        else:
            detail = f"{outcome.library} ({lane.installed.origin}){_beside(lane.installed)}"
            yield LaneDiagnosis(lane.name, True, detail, "")


def _beside(installed: Installed) -> str:
    """Describes what the NAS kernels are built for, and which other programs the stack has, as text."""
    if installed.programs:
        return ""
    target = f"; kernels built for {installed.target.text}" if installed.target else ""
    target += f"; CG, FT skipped: {installed.fortran_problem}" if installed.fortran_problem else ""
    programs = _imb(installed) + _osu(installed) + _npb(installed) + _gromacs(installed)
    return target + programs + _profiler(installed)


def _imb(installed: Installed) -> str:
    if not installed.imb:
        return f"; no IMB (skipped; run: fabricbench setup {installed.stack} --source IMB)"
    build = installed.sources.get("imb")
    own = package_of(Path(installed.imb))
    origin = f"{build.version} ({SOURCE})" if build else f"{own.version} (spack)" if own else "(with Intel MPI)"
    return f"; IMB {origin.strip()}" + (", no IMB-MT (skipped)" if installed.imb_mt_problem else "")


def _osu(installed: Installed) -> str:
    programs = osu_programs(installed)
    titles = (version for path in programs.paths.values() if (version := osu_version(path)))
    version = programs.version or next(titles, "of unknown version")
    if programs.paths:
        return f"; OSU {version} ({programs.origin})"
    return f"; no OSU (skipped; run: fabricbench setup {installed.stack} --source OSU)"


def _npb(installed: Installed) -> str:
    programs = npb_programs(installed)
    if programs and programs.paths:
        return f"; NASA's NPB {programs.text}"
    return f"; no NPB of NASA (skipped; run: fabricbench setup {installed.stack} --source NPB)"


def _profiler(installed: Installed) -> str:
    profiler = profiler_of(installed)
    if profiler.problem:
        return f"; no profiler (skipped): {profiler.problem}"
    if profiler.name != "tau":
        return "; no TAU: this project's profiler"
    origin = TAU if os.environ.get(TAU) else SOURCE if "tau" in installed.sources else installed.source
    return f"; TAU {profiler.version} ({origin})"


def _gromacs(installed: Installed) -> str:
    build = installed.gromacs
    if build is None:
        return f"; no GROMACS (skipped; run: fabricbench setup {installed.stack} --source GROMACS)"
    if build.problem:
        return f"; GROMACS (skipped): {build.problem}"
    better = better_simd(build.simd, processor_flags())
    slow = f" (this processor also supports {better}, which is faster)" if better else ""
    parts = (f"{build.precision} precision", f"SIMD {build.simd}{slow}", build.program, build.mpi_library)
    return f"; GROMACS {build.version}, {', '.join(parts)}"


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
