# SPDX-License-Identifier: Apache-2.0
"""Which lanes can run here, and for each that cannot, why and the cure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fabricbench.core.site import build_root
from fabricbench.core.stacks import Installed
from fabricbench.drive.probe import probe
from fabricbench.drive.system import Lane, check_requirements, lanes, settings_file


@dataclass(frozen=True, slots=True)
class Finding:
    """A lane, ready or not."""

    lane: str
    ready: bool
    detail: str
    cure: str


def examine(wanted: Iterable[Lane]) -> Iterator[Finding]:
    """Start two ranks on each lane; what works is ready, what does not has a reason and a cure."""
    for lane in wanted:
        if lane.missing or lane.installed is None:
            yield Finding(lane.name, False, lane.missing, lane.cure)
            continue
        found = probe(lane.installed, lane.variables, lane.meeting)
        if found.problem:
            log = build_root() / "stacks" / lane.stack / "setup.log"
            cure = f"see {log}; settings: site/stacks.py; set up anew: fabricbench setup --again {lane.stack}"
            yield Finding(lane.name, False, found.problem, cure)
        else:
            yield Finding(lane.name, True, f"{found.library} ({lane.installed.source}){_without(lane.installed)}", "")


def _without(installed: Installed) -> str:
    """What of IMB will be a named gap."""
    if installed.programs:
        return ""
    if not installed.imb:
        return "; no IMB (named gap)"
    return "; no IMB-MT (named gap)" if installed.imb_mt_problem else ""


def examine_site(system: str) -> list[str]:
    """Read every file of a site as a campaign would; what was found. BadInput at the first that is broken."""
    found = lanes(system)
    text = [f"{settings_file(system)}: {len(found)} lanes: {' '.join(lane.name for lane in found)}"]
    number = check_requirements(system)
    text.append("no requirements, so nothing is judged" if number is None else f"{number} requirements")
    return text
