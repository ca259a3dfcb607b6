# SPDX-License-Identifier: Apache-2.0
"""Which lanes can run here, and for each that cannot, why and the hint."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from fabricbench.doctor.site import Problem, check_requirements, site_problems
from fabricbench.errors import BadInput
from fabricbench.setup.gromacs.builds import better_simd, processor_flags
from fabricbench.setup.probe import probe
from fabricbench.site.lane import Lane
from fabricbench.site.settings import build_root, lanes, settings_file
from fabricbench.site.stacks import GromacsBuild, Installed
from fabricbench.slurm.allocation import request_of


@dataclass(frozen=True, slots=True)
class Finding:
    """A lane, ready or not."""

    lane: str
    ready: bool
    detail: str
    hint: str


def examine(wanted: Iterable[Lane]) -> Iterator[Finding]:
    """Start two ranks on each lane; what works is ready, what does not has a reason and a hint."""
    for lane in wanted:
        if lane.unavailable is not None or lane.installed is None:
            yield Finding(lane.name, False, *(lane.unavailable or ("", "")))
            continue
        request = request_of(lane.fabric)
        if request and lane.pmi is None:
            yield Finding(lane.name, False, "its own launcher needs an allocation", "not checked: reframe -r tries it")
            continue
        launcher = request.two_ranks(lane.pmi) if request and lane.pmi is not None else ()
        found = probe(lane.installed, lane.variables(), lane.handshake, launcher)
        if found.problem:
            log = build_root() / "stacks" / lane.stack.name / "setup.log"
            hint = f"see {log}; settings: site/stacks.py; set up anew: fabricbench setup --again {lane.stack.name}"
            yield Finding(lane.name, False, found.problem, hint)
        else:
            yield Finding(lane.name, True, f"{found.library} ({lane.installed.source}){_beside(lane.installed)}", "")


def _beside(installed: Installed) -> str:
    """What of IMB will be a named skip, and the stack's GROMACS."""
    if installed.programs:
        return ""
    imb = (
        "; no IMB (named skip)" if not installed.imb else "; no IMB-MT (named skip)" if installed.imb_mt_problem else ""
    )
    return imb + _gromacs(installed.gromacs)


def _gromacs(build: GromacsBuild | None) -> str:
    if build is None:
        return "; no GROMACS (named skip)"
    if build.problem:
        return f"; GROMACS (named skip): {build.problem}"
    better = better_simd(build.simd, processor_flags())
    slow = f", built for less than this processor's {better}" if better else ""
    return f"; GROMACS {build.version}, {build.precision} precision, SIMD {build.simd}{slow}, {build.mpi_library}"


def examine_site(system: str, chosen: Collection[str] = ()) -> tuple[list[Problem], str]:
    """All that is wrong with a site, or with the fabrics of the ``chosen`` lanes; and what it has in one line, where it
    can be read at all."""
    problems = site_problems(system, chosen)
    try:
        found, number = lanes(system), check_requirements(system)
    except BadInput:
        return problems, ""
    judged = "no requirements" if number is None else f"{number} requirements"
    names = " ".join(lane.name for lane in found)
    return problems, f"{settings_file(system)}: {judged}, {len(found)} lanes: {names}"
