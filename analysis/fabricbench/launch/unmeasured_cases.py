# SPDX-License-Identifier: Apache-2.0
"""Lists what a campaign planned and did not measure: skipped launches, skipped sizes, and cases without a trace."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fabricbench.launch.case import Case, case_of
from fabricbench.launch.facts import Expected, Launch, SkippedLaunch, canonical_case
from fabricbench.launch.record import CampaignFacts, Record, SkippedSize, Unmeasured
from fabricbench.site.lane import LaneName

_NO_TRACE = "planned, but the campaign contains neither a launch nor a skip for it"
_UNREADABLE = "its launch cannot be read"
_REPEAT = "the campaign is incomplete: continue it with fabricbench run CAMPAIGN"


def unmeasured(
    facts: CampaignFacts, planned: Iterable[Case], skips: Mapping[str, SkippedLaunch], records: Sequence[Record]
) -> tuple[Unmeasured, ...]:
    """Returns everything that was planned and not measured, once for all blocks; ``skips`` by their directory."""
    items: dict[object, Unmeasured] = {}
    for item in (*_of_skips(skips.values()), *_of_rows(records), *_without_trace(planned, skips, records)):
        items.setdefault(_identity(item), item)
    lanes = {LaneName(item.stack, item.fabric, item.variant) for item in items.values()}
    lanes |= {LaneName(r.launch.stack, r.launch.fabric, r.launch.variant) for r in records if r.launch is not None}
    return (*items.values(), *_of_lanes(facts, lanes))


def _identity(item: Unmeasured) -> tuple[object, ...]:
    """Returns the key that is the same for a skip in every block, whatever its reason."""
    lane = (item.system, item.fabric, item.stack, item.variant)
    return (*lane, item.tool, item.benchmark, item.expected, item.ranks, item.nodes, item.applies)


def _of_skips(skips: Iterable[SkippedLaunch]) -> Iterator[Unmeasured]:
    columns = ("system", "fabric", "stack", "variant", "tool", "ranks", "nodes", "reason", "hint", "applies")
    for skip in sorted(skips, key=lambda skip: (skip.block, skip.id)):
        benchmark = skip.benchmark.partition(" ")[0]
        yield Unmeasured(benchmark=benchmark, expected=skip.expected, **{name: getattr(skip, name) for name in columns})


def _of_rows(records: Iterable[Record]) -> Iterator[Unmeasured]:
    """Yields the single sizes that launches skipped."""
    for record in records:
        launch = record.launch
        if launch is None or launch.mode != "timed":
            continue
        for skip in record.skips:
            yield _unmeasured_of(launch, skip.benchmark, tuple(_rows_of(launch, skip)), skip.reason)


def _rows_of(launch: Launch, skip: SkippedSize) -> Iterator[Expected]:
    """Yields the rows that the launch was expected to yield at the skipped size.

    If the size was omitted from the expected rows, the rows of the launch's other sizes stand for it.
    """
    own = canonical_case(launch.case)
    items = [
        i for i in launch.expected if (i.benchmark, own if i.case is None else i.case) == (skip.benchmark, skip.case)
    ]
    matches = [i for i in items if skip.msg_size_bytes in (i.msg_sizes_bytes or (None,))]
    sizes = None if skip.msg_size_bytes is None else (skip.msg_size_bytes,)
    for item in matches or items:
        yield item.model_copy(update={"case": skip.case, "msg_sizes_bytes": sizes})


def _unmeasured_of(launch: Launch, benchmark: str, rows: tuple[Expected, ...], reason: str) -> Unmeasured:
    columns = ("system", "fabric", "stack", "variant", "tool", "ranks", "nodes")
    return Unmeasured(
        benchmark=benchmark, expected=rows, reason=reason, **{name: getattr(launch, name) for name in columns}
    )


def _without_trace(
    planned: Iterable[Case], skips: Mapping[str, SkippedLaunch], records: Sequence[Record]
) -> Iterator[Unmeasured]:
    """Yields the cases that were planned, or whose launch cannot be read, and that have no other launch and no skip.

    The rows of such a case are taken from the same check on another lane.
    """
    launches = {case: r.launch for r in records if r.launch is not None and (case := case_of(r.directory))}
    skipped = {case: skip for directory, skip in skips.items() if (case := case_of(directory))}
    unreadable = {case for r in records if r.launch is None and (case := case_of(r.directory))}
    for case in sorted({*planned, *unreadable} - launches.keys() - skipped.keys()):
        reason = _UNREADABLE if case in unreadable else _NO_TRACE
        launch = next((launches[other] for other in sorted(launches) if other.check == case.check), None)
        skip = next((skipped[other] for other in sorted(skipped) if other.check == case.check), None)
        if launch is not None and launch.mode != "timed":
            continue
        hint = "" if case in unreadable else _REPEAT
        where: dict[str, Any] = {**asdict(case.lane_name), "damaged": True}
        where |= {"reason": reason, "hint": hint}
        if launch is not None:
            same = _unmeasured_of(launch, launch.benchmark, _with_case(launch), "")
            yield same.model_copy(update=where)
        elif skip is not None:
            yield next(_of_skips([skip])).model_copy(update={**where, "applies": skip.applies})
        else:
            yield Unmeasured(system="", tool="", benchmark="", expected=None, **where)


def _with_case(launch: Launch) -> tuple[Expected, ...]:
    own = canonical_case(launch.case)
    return tuple(i if i.case is not None else i.model_copy(update={"case": own}) for i in launch.expected)


def _of_lanes(facts: CampaignFacts, lanes: set[LaneName]) -> Iterator[Unmeasured]:
    """Yields the lanes that the campaign selected by name and that have no launch and no skip."""
    for name in facts.lanes:
        lane = LaneName.of(name)
        if lane not in lanes:
            reason = f"the lane {name} was selected, but the campaign contains neither a launch nor a skip of it"
            where = {"system": facts.system, **asdict(lane)}
            yield Unmeasured(tool="", benchmark="", expected=None, reason=reason, hint=_REPEAT, damaged=True, **where)
