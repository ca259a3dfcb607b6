# SPDX-License-Identifier: Apache-2.0
"""What a campaign planned and did not measure: skipped launches, skipped sizes, and planned cases without a trace."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fabricbench.launch.facts import Expected, Launch, SkippedLaunch, canonical_case
from fabricbench.launch.record import CampaignFacts, Record, SkippedSize, Unmeasured
from fabricbench.site.lane import lane_parts

_NO_TRACE = "planned, but the campaign contains neither a launch nor a skip for it"
_UNREADABLE = "its launch cannot be read"
_REPEAT = "the campaign is incomplete: continue it with fabricbench run CAMPAIGN"


class Case(NamedTuple):
    """A test case as ReFrame names it: the check's class with the hash of its parameters, and the lane."""

    check: str
    fabric: str
    stack: str


def case_of(directory: str) -> Case | None:
    """The case whose launch or skip lies in ``directory``, relative to the launches; None for a foreign directory."""
    parts = directory.split("/")
    return Case(parts[-1], parts[-3], parts[-2]) if len(parts) == 5 else None


def unmeasured(
    facts: CampaignFacts, planned: Iterable[Case], skips: Mapping[str, SkippedLaunch], records: Sequence[Record]
) -> tuple[Unmeasured, ...]:
    """Everything planned that was not measured, once for all blocks; ``skips`` by their directory."""
    found: dict[object, Unmeasured] = {}
    for item in (*_of_skips(skips.values()), *_of_rows(records), *_without_trace(planned, skips, records)):
        found.setdefault(_what(item), item)
    seen = {(item.stack, item.fabric, item.variant) for item in found.values()}
    seen |= {(r.launch.stack, r.launch.fabric, r.launch.variant) for r in records if r.launch is not None}
    return (*found.values(), *_of_lanes(facts, seen))


def _what(item: Unmeasured) -> tuple[object, ...]:
    """What is the same in every block, whatever the reason is."""
    lane = (item.system, item.fabric, item.stack, item.variant)
    return (*lane, item.tool, item.benchmark, item.expected, item.ranks, item.nodes, item.applies)


def _of_skips(skips: Iterable[SkippedLaunch]) -> Iterator[Unmeasured]:
    columns = ("system", "fabric", "stack", "variant", "tool", "ranks", "nodes", "reason", "hint", "applies")
    for skip in sorted(skips, key=lambda skip: (skip.block, skip.id)):
        benchmark = skip.benchmark.partition(" ")[0]
        yield Unmeasured(benchmark=benchmark, expected=skip.expected, **{name: getattr(skip, name) for name in columns})


def _of_rows(records: Iterable[Record]) -> Iterator[Unmeasured]:
    """Single sizes that launches could not measure."""
    for record in records:
        launch = record.launch
        if launch is None or launch.mode != "timed":
            continue
        for skip in record.skips:
            yield _beside(launch, skip.benchmark, tuple(_rows_of(launch, skip)), skip.reason)


def _rows_of(launch: Launch, skip: SkippedSize) -> Iterator[Expected]:
    """The metrics that the launch was to yield at the skip's size; those of its other sizes where that was left out."""
    own = canonical_case(launch.case)
    items = [
        i for i in launch.expected if (i.benchmark, own if i.case is None else i.case) == (skip.benchmark, skip.case)
    ]
    listed = [i for i in items if skip.msg_size_bytes in (i.msg_sizes_bytes or (None,))]
    sizes = None if skip.msg_size_bytes is None else (skip.msg_size_bytes,)
    for item in listed or items:
        yield item.model_copy(update={"case": skip.case, "msg_sizes_bytes": sizes})


def _beside(launch: Launch, benchmark: str, rows: tuple[Expected, ...], reason: str) -> Unmeasured:
    columns = ("system", "fabric", "stack", "variant", "tool", "ranks", "nodes")
    return Unmeasured(
        benchmark=benchmark, expected=rows, reason=reason, **{name: getattr(launch, name) for name in columns}
    )


def _without_trace(
    planned: Iterable[Case], skips: Mapping[str, SkippedLaunch], records: Sequence[Record]
) -> Iterator[Unmeasured]:
    """Cases that are planned, or whose launch cannot be read, and that have no other launch and no skip.

    What such a case would have measured is what the same check was to measure on another lane.
    """
    launches = {case: r.launch for r in records if r.launch is not None and (case := case_of(r.directory))}
    named = {case: skip for directory, skip in skips.items() if (case := case_of(directory))}
    broken = {case for r in records if r.launch is None and (case := case_of(r.directory))}
    for case in sorted({*planned, *broken} - launches.keys() - named.keys()):
        reason = _UNREADABLE if case in broken else _NO_TRACE
        launch = next((launches[other] for other in sorted(launches) if other.check == case.check), None)
        skip = next((named[other] for other in sorted(named) if other.check == case.check), None)
        if launch is not None and launch.mode != "timed":
            continue
        hint = "" if case in broken else _REPEAT
        where: dict[str, Any] = {"fabric": case.fabric, "stack": case.stack, "variant": "", "damaged": True}
        where |= {"reason": reason, "hint": hint}
        if launch is not None:
            same = _beside(launch, launch.benchmark, _with_case(launch), "")
            yield same.model_copy(update=where)
        elif skip is not None:
            yield next(_of_skips([skip])).model_copy(update={**where, "applies": skip.applies})
        else:
            yield Unmeasured(system="", tool="", benchmark="", expected=None, **where)


def _with_case(launch: Launch) -> tuple[Expected, ...]:
    own = canonical_case(launch.case)
    return tuple(i if i.case is not None else i.model_copy(update={"case": own}) for i in launch.expected)


def _of_lanes(facts: CampaignFacts, seen: set[tuple[str, str, str]]) -> Iterator[Unmeasured]:
    """Lanes that the campaign chose by name and that left nothing at all."""
    for lane in facts.lanes:
        stack, fabric, variant = lane_parts(lane)
        if (stack, fabric, variant) not in seen:
            reason = f"the lane {lane} was chosen, but the campaign contains neither a launch nor a skip for it"
            where = {"system": facts.system, "stack": stack, "fabric": fabric, "variant": variant}
            yield Unmeasured(tool="", benchmark="", expected=None, reason=reason, hint=_REPEAT, damaged=True, **where)
