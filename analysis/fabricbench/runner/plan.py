# SPDX-License-Identifier: Apache-2.0
"""The plan of a campaign: its lanes, the cases of a block, and which of them are finished."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path

from fabricbench.campaign.attempts import finishing_attempt
from fabricbench.campaign.read import read_facts
from fabricbench.errors import BadInput, nearest
from fabricbench.files.layout import FACTS, LAUNCHES, SKIPPED
from fabricbench.launch.case import Case
from fabricbench.launch.record import CampaignFacts
from fabricbench.runner import reframe
from fabricbench.site.lane import Lane
from fabricbench.site.settings import lanes, settings_file
from fabricbench.slurm import state as slurm_state
from fabricbench.slurm.allocation import Request, request_of
from fabricbench.slurm.topology import leaf_switches

COMPLETE = "complete.json"
PLAN_FIELDS = ("system", "tier", "lanes", "checks", "variables", "injected", "scales")
"""The fields of a plan that must equal those of the campaign that it continues."""
INJECTED = "Injected"
"""The end of the class names of checks that run at the injected levels."""
_NOT_SET = re.compile(r"test '(\w+)': the following variables were not set: (.*)")


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of a campaign.

    ``variables`` are set in checks (``MicroPingpong.port=eth1``); ``decided`` returns whether every verdict is decided
    by the launches so far. ``injected``: levels of injected delays (``latency=5us``), at which applications run too.
    ``scales``: the scales that replace those of the tier. ``without``: nodes to take out of the campaign, ``because``
    of this reason; ``removed``: those that are out already.
    """

    path: Path
    system: str
    tier: str
    seed: int
    lanes: tuple[str, ...]
    checks: tuple[str, ...]
    variables: tuple[str, ...]
    budget_seconds: float | None
    decided: Callable[[Path], bool]
    injected: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    because: str = ""
    removed: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that make ReFrame use the settings of the system and define the plan's checks."""
        return reframe.settings_environment([settings_file(self.system)], self.system, self.injected, self.scales)

    @property
    def switches(self) -> tuple[str, ...]:
        """The switches with their nodes as Slurm knows them; none unless a variable requests a distance."""
        return leaf_switches() if any(".distance=" in variable for variable in self.variables) else ()

    @property
    def unused_nodes(self) -> tuple[str, ...]:
        """The nodes that the remaining launches do not use."""
        return tuple(dict.fromkeys((*self.removed, *self.without)))


def ready_lanes(plan: Plan) -> list[Lane]:
    """The chosen lanes whose stack is set up."""
    return [
        lane
        for lane in lanes(plan.system)
        if lane.unavailable is None
        and lane.installed is not None
        and not lane.installed.missing_file
        and (not plan.lanes or lane.name in plan.lanes)
    ]


def demand_lanes(plan: Plan) -> set[str]:
    """The names of the chosen lanes that are ready; raises BadInput if none is."""
    ready = {lane.name for lane in ready_lanes(plan)}
    if not ready:
        raise BadInput("no lane can run here", hint="fabricbench doctor shows the reasons")
    return ready


def demand_known_nodes(plan: Plan) -> None:
    """Raises BadInput if a node that the plan takes out is not a node of the chosen fabrics."""
    if not plan.without:
        return
    fabrics = [lane.fabric for lane in lanes(plan.system) if not plan.lanes or lane.name in plan.lanes]
    names = {name for fabric in fabrics for name in fabric.nodes.names}
    for request in {request for fabric in fabrics if (request := request_of(fabric))}:
        try:
            names |= request.within(slurm_state.partitions(), slurm_state.nodes()).keys()
        except slurm_state.NoAnswer as answer:
            raise BadInput(f"the nodes are not known: {answer}", where="--without") from None
    for node in plan.without:
        if node not in names:
            raise BadInput(f"no node '{node[:80]}'", where="--without", expected=nearest(node, names))


def by_nodes(plan: Plan) -> dict[Request | None, set[str]]:
    """The names of the chosen lanes by the allocation that they share; None for lanes without one."""
    lanes_of: dict[Request | None, set[str]] = {}
    for lane in lanes(plan.system):
        if not plan.lanes or lane.name in plan.lanes:
            lanes_of.setdefault(request_of(lane.fabric, plan.unused_nodes), set()).add(lane.name)
    return lanes_of


def is_complete(path: Path) -> bool:
    """Whether the campaign is complete."""
    return lexists(path / COMPLETE)


def campaign_facts(plan: Plan) -> CampaignFacts | None:
    """The facts of the campaign, None if there is none yet; raises BadInput if it has another plan."""
    if not lexists(plan.path / FACTS):
        return None
    facts = read_facts(plan.path)
    for key in PLAN_FIELDS:
        earlier, now = getattr(facts, key), getattr(plan, key)
        if earlier != now:
            raise BadInput(
                f"this campaign was started with {key} {earlier!r}, not {now!r}",
                where=str(plan.path),
                hint="name another directory",
            )
    return facts


def block_cases(plan: Plan) -> list[Case]:
    """The cases of a block as ReFrame lists them; raises BadInput if it skips a file or no check matches."""
    outcome = reframe.run([*selection(plan), "--list=C"], plan.environment)
    if outcome.problem or outcome.status:
        lines = [line for line in outcome.lines if "ERROR" in line or "error" in line]
        raise BadInput(f"ReFrame: {outcome.problem or ' '.join(lines[:2]) or 'it failed'}")
    matches = [case for case in reframe.cases(outcome.lines) if not plan.lanes or case.lane in plan.lanes]
    if not matches:
        names = sorted({case.check_class for case in reframe.cases(_all_lines(plan))})
        raise BadInput("no check matches", expected=nearest(" ".join(plan.checks), names))
    if plan.injected and not any(case.check_class.endswith(INJECTED) for case in matches):
        what = "no chosen check is an application into which delays can be injected"
        raise BadInput(what, where="--inject", expected="--check NPB or --check Gromacs")
    demand_set(plan, matches, outcome.lines)
    return matches


def demand_set(plan: Plan, cases: Iterable[Case], lines: Sequence[str]) -> None:
    """Raises BadInput if a variable of the plan belongs to no check. ReFrame prints only a warning, in ``lines``."""
    checks = {case.check_class for case in cases}
    unset = {match.group(1): match.group(2) for line in lines if (match := _NOT_SET.search(line))}
    for variable in plan.variables:
        check, _, name = variable.partition("=")[0].rpartition(".")
        owners = [
            name_of_check
            for name_of_check in checks
            if check in ("", name_of_check) and f"'{name}'" not in unset.get(name_of_check, "")
        ]
        if not owners:
            where = f"--set {variable}"
            if check and check not in checks:
                raise BadInput(f"no check '{check}' is chosen", where=where, expected=nearest(check, checks))
            raise BadInput(f"{check or 'no check'} has {'no' if check else 'a'} variable '{name}'", where=where)


def _all_lines(plan: Plan) -> tuple[str, ...]:
    return reframe.run(["-c", str(reframe.checks_directory()), "--list=C"], plan.environment).lines


def selection(plan: Plan) -> list[str]:
    """ReFrame's options that choose the checks and set their variables."""
    options = [word for check in plan.checks for word in ("-n", f"^{check}")]
    variables = [word for variable in plan.variables for word in ("-S", variable)]
    return ["-c", str(reframe.checks_directory()), "-t", f"^{plan.tier}$", *options, *variables]


def finished_cases(plan: Plan, cases: list[Case], block: int) -> set[Case]:
    """The cases of a block that are skipped, or whose launch completed and needs no repeat."""
    result = set()
    for case in cases:
        pattern = f"b{block:03d}.s*/{plan.system}/{case.fabric}/{case.stack}/{case.check}"
        tries = sorted((plan.path / LAUNCHES).glob(pattern))
        if finishing_attempt(tries) or any((directory / name).exists() for directory in tries for name in SKIPPED):
            result.add(case)
    return result


def missing_cases(plan: Plan, cases: list[Case], block: int) -> list[Case]:
    """The cases of a block that are not finished, in their order."""
    finished = finished_cases(plan, cases, block)
    return [case for case in cases if case not in finished]
