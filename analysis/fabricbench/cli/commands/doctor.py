# SPDX-License-Identifier: Apache-2.0
"""``fabricbench doctor``."""

from typing import Annotated

import typer

from fabricbench.cli.options import BAD_INPUT, LaneOption, SystemOption
from fabricbench.cli.output import print_problems, say

NOTHING_READY = 1
"""Exit status when no lane, or no stack of Spack, can run."""

Site = Annotated[bool, typer.Option("--site", help="check the site's files instead of the lanes")]
Spack = Annotated[
    bool, typer.Option("--spack", help="check the stacks that the site uses from Spack instead of the lanes")
]


def doctor(system: SystemOption = "local", site: Site = False, spack: Spack = False, lane: LaneOption = None) -> None:
    """Lists the lanes that can run here, and for every other lane the reason and a hint."""
    if spack:
        ready = _check_spack(system)
    elif site:
        ready = _check_site(system, lane or [])
    else:
        ready = _check_lanes(system, lane or [])
    if not ready:
        raise typer.Exit(NOTHING_READY)


def _check_lanes(system: str, names: list[str]) -> bool:
    """Prints a line per lane. Returns whether any lane is ready."""
    from fabricbench.doctor.lanes import examine
    from fabricbench.site.settings import choose, lanes

    ready = 0
    for result in examine(choose(lanes(system), names)):
        ready += result.ready
        hint = f"; hint: {result.hint}" if result.hint else ""
        _print_state(result.lane, result.ready, result.detail + hint)
    return ready > 0


def _check_spack(system: str) -> bool:
    """Prints a line per stack of Spack. Returns whether any stack is ready."""
    from fabricbench.setup.spack import examine_spack

    stacks = list(examine_spack(system))
    for stack in stacks:
        _print_state(stack.name, stack.ready, stack.detail)
    return any(stack.ready for stack in stacks)


def _check_site(system: str, names: list[str]) -> bool:
    """Prints the problems of a site, or of the fabrics of the lanes ``names``; exit status 2 if one is ``broken``."""
    from fabricbench.doctor.lanes import examine_site
    from fabricbench.site.settings import choose, lanes

    selection = [lane.name for lane in choose(lanes(system), names)] if names else []
    problems, summary = examine_site(system, selection)
    if summary:
        say(summary)
    if print_problems(problems):
        raise typer.Exit(BAD_INPUT)
    return True


def _print_state(name: str, ready: bool, detail: str) -> None:
    say(f"{name:16}{'ready' if ready else 'NOT READY':11}{detail}")
