# SPDX-License-Identifier: Apache-2.0
"""Forecasts a campaign: its launches, nodes, hours and skips, without starting any launch.

ReFrame composes every launch of a block in a dry run, and each check writes the facts of its launch.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fabricbench.campaign.attempts import finished_launches
from fabricbench.campaign.write import LOOKS
from fabricbench.doctor.site import Problem, site_problems
from fabricbench.errors import BadInput
from fabricbench.launch.case import Case
from fabricbench.launch.facts import Launch, SkippedLaunch
from fabricbench.runner.dry_run import dry_run
from fabricbench.runner.plan import (
    Plan,
    block_cases,
    by_nodes,
    campaign_facts,
    demand_lanes,
    finished_cases,
    is_complete,
)
from fabricbench.runner.reference import ReferenceTimes, read_reference
from fabricbench.site.settings import lanes, no_blanks
from fabricbench.slurm.allocation import Request

HOUR = 3600


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A launch that each block would start, or the campaign once. ``held_nodes``: the number of allocated nodes."""

    case: Case
    launch: Launch
    held_nodes: int
    seconds: float | None
    """The seconds of such a launch in the reference campaign; None if it has none."""

    @property
    def once(self) -> bool:
        """Whether the campaign needs the launch once, and not in each block."""
        return self.launch.mode == "wireup"


@dataclass(frozen=True, slots=True)
class Forecast:
    """The launches and skips of a campaign that was not started, or the remaining ones of a campaign that was.

    ``starts`` holds the launches of one block and those of the campaign; ``finished`` the finished cases of each block.
    ``problems`` are those of the site; ``run`` refuses a site with a problem of state ``broken``.
    """

    looks: tuple[int, ...]
    starts: tuple[Foreseen, ...]
    skips: tuple[SkippedLaunch, ...]
    finished: tuple[frozenset[Case], ...]
    reference: ReferenceTimes | None
    requests: Mapping[Request, frozenset[str]]
    problems: tuple[Problem, ...]

    def until(self, blocks: int) -> list[Foreseen]:
        """The launches that remain until ``blocks`` blocks are complete."""
        once = [start for start in self.starts if start.once]
        return once + [
            start
            for block in range(blocks)
            for start in self.starts
            if not start.once and start.case not in self.finished[block]
        ]

    def launches(self) -> pl.DataFrame:
        """A row for each lane, check and number of ranks: its launches in a block, of wire-ups in the campaign."""
        groups: dict[tuple[str, str, str, int, int], list[Foreseen]] = defaultdict(list)
        for start in self.starts:
            check = start.case.check_class
            build = start.case.lane_name.build
            place = (start.launch.fabric, build, check, start.launch.ranks, start.launch.nodes)
            groups[place].append(start)
        rows = [
            {
                **dict(zip(("fabric", "stack", "check", "ranks", "nodes"), place, strict=True)),
                "launches": len(group),
                "once": group[0].once,
                **{f"seconds_{word}": math.ceil(value) for word, value in self._seconds(group).items()},
            }
            for place, group in sorted(groups.items())
        ]
        schema = {"fabric": pl.String, "stack": pl.String, "check": pl.String, "ranks": pl.Int64, "nodes": pl.Int64}
        times = {f"seconds_{word}": pl.Int64 for word in self._seconds([])}
        return pl.DataFrame(rows, schema={**schema, "launches": pl.Int64, "once": pl.Boolean, **times})

    def totals(self) -> pl.DataFrame:
        """A row for each interim analysis: the launches that remain until then, and the node-hours of their nodes."""
        rows: list[dict[str, float]] = []
        for blocks in self.looks:
            starts = self.until(blocks)
            hours = {f"hours_{word}": round(value / HOUR, 1) for word, value in self._seconds(starts).items()}
            node_seconds = self._seconds(starts, lambda start: start.held_nodes)
            node_hours = {f"node_hours_{word}": math.ceil(value / HOUR) for word, value in node_seconds.items()}
            rows.append({"blocks": blocks, "launches": len(starts), **hours, **node_hours})
        return pl.DataFrame(rows)

    def allocations(self) -> pl.DataFrame:
        """A row for each kind of allocation, with the number that a block needs if each launch takes its time limit."""
        rows = []
        for request, names in self.requests.items():
            starts = [start for start in self.starts if start.case.lane in names]
            most = self._seconds(starts)["at_most"]
            rows.append(
                {
                    "access": " ".join(request.access),
                    "nodes": request.nodes,
                    "minutes": request.minutes,
                    "allocations_per_block_at_most": math.ceil(most / (60 * request.minutes)),
                }
            )
        return pl.DataFrame(rows)

    def skip_table(self) -> pl.DataFrame:
        """A row for each reason of skips: its lanes, and the number of launches."""
        counts = Counter((skip.tool, skip.reason, skip.hint) for skip in self.skips)
        on: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for skip in self.skips:
            on[skip.tool, skip.reason, skip.hint].add(skip.lane)
        rows = [
            {
                "tool": tool,
                "skips": count,
                "lanes": " ".join(sorted(on[tool, reason, hint])),
                "reason": reason,
                "hint": hint,
            }
            for (tool, reason, hint), count in sorted(counts.items())
        ]
        schema = {"tool": pl.String, "skips": pl.Int64, "lanes": pl.String, "reason": pl.String, "hint": pl.String}
        return pl.DataFrame(rows, schema=schema)

    @property
    def without_reference(self) -> int:
        """The number of launches without a time in the reference; their time limit is used."""
        return sum(start.seconds is None for start in self.starts)

    def _seconds(
        self, starts: Sequence[Foreseen], weight: Callable[[Foreseen], int] = lambda start: 1
    ) -> dict[str, float]:
        """The sum of the launches' limits, ``at_most``, and of their reference times, ``expected``, in seconds."""
        between = self.reference.between if self.reference else 0.0
        totals = {"at_most": sum((s.launch.limit_seconds + between) * weight(s) for s in starts)}
        if self.reference:
            likely = [s.launch.limit_seconds if s.seconds is None else s.seconds for s in starts]
            pairs = zip(starts, likely, strict=True)
            totals["expected"] = sum((seconds + between) * weight(s) for s, seconds in pairs)
        return totals


def forecast(plan: Plan, reference: Path | None) -> Forecast:
    """Forecasts the launches of this plan, or the remaining ones if the campaign exists.

    ``problems`` has the reasons for which ``run`` would refuse the plan, if its launches can be listed.
    """
    no_blanks(plan.path.resolve())
    facts = campaign_facts(plan)
    reference_times = read_reference(reference) if reference else None
    looks = facts.looks if facts else LOOKS[plan.tier]
    launches, skips = dry_run(plan)
    if not launches and not skips:
        block_cases(plan)
    nodes = {lane.name: lane.fabric.nodes.count for lane in lanes(plan.system)}
    once = set(finished_launches(plan.path, -1))
    starts = (
        ()
        if is_complete(plan.path)
        else tuple(
            Foreseen(case, launch, nodes[launch.lane], reference_times.of(launch) if reference_times else None)
            for case, launch in launches
            if launch.id not in once
        )
    )
    cases = [start.case for start in starts]
    return Forecast(
        looks=looks,
        starts=starts,
        skips=(*skips, *(skip for start in starts for skip in _omitted_sizes(start.launch))),
        finished=tuple(frozenset(finished_cases(plan, cases, block)) for block in range(max(looks))),
        reference=reference_times,
        requests={request: frozenset(names) for request, names in by_nodes(plan).items() if request},
        problems=tuple(_problems(plan)),
    )


def _problems(plan: Plan) -> list[Problem]:
    problems = site_problems(plan.system, plan.lanes, plan.unused_nodes)
    try:
        demand_lanes(plan)
    except BadInput as error:
        return [Problem("broken", str(error)), *problems]
    return problems


def _omitted_sizes(launch: Launch) -> Iterator[SkippedLaunch]:
    """The message sizes that a launch leaves out."""
    same = launch.model_dump(include={"id", "block", "system", "fabric", "stack", "variant", "tool", "messages"})
    if launch.left_out is not None:
        for size in launch.left_out.msg_sizes_bytes:
            yield SkippedLaunch(**same, benchmark=f"{launch.benchmark} at {size} B", reason=launch.left_out.reason)
