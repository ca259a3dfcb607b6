# SPDX-License-Identifier: Apache-2.0
"""The sections of skipped benchmarks, of launches that failed, and of all launches."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fabricbench.launch.facts import SkippedLaunch
from fabricbench.launch.record import LOST_STATES, Record
from fabricbench.report.formatting import MISSING, number, percent, plural
from fabricbench.report.links import Launches, Link
from fabricbench.site.scale import scale_text
from fabricbench.verdict.result import FOREIGN_LOAD

STATE_SYMBOLS = {
    "ok": "✓", "failed": "✗", "refuted": "⊘", "unknown": "?", "unreadable": "✗", "unfinished": "…", "lost": "…",
}  # fmt: skip

_TROUBLE = ("failed", "unreadable", *LOST_STATES)


@dataclass(frozen=True, slots=True)
class SkippedBenchmarks:
    """Lanes and benchmarks that were skipped for one reason."""

    reason: str
    hint: str
    lanes: tuple[str, ...]
    benchmarks: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """Launches with one problem: they failed, or their binding is not the requested one, for one reason."""

    state: str
    symbol: str
    what: str
    reason: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class LaunchView:
    """One row of the table of launches; ``…_key``: the sort key of a column."""

    anchor: str
    href: str
    directory: str
    block: str
    position: str
    lane: str
    tool: str
    benchmark: str
    messages: str
    scale: str
    scale_key: str
    state: str
    symbol: str
    seconds: str
    seconds_key: str
    load: str
    load_key: str
    loaded: bool


def skipped(skips: Sequence[SkippedLaunch]) -> tuple[SkippedBenchmarks, ...]:
    """The skips by reason and hint, the most frequent first."""
    groups: dict[tuple[str, str], list[SkippedLaunch]] = defaultdict(list)
    for skip in skips:
        groups[skip.reason, skip.hint].append(skip)
    views = [
        SkippedBenchmarks(
            reason=reason,
            hint=hint,
            lanes=tuple(sorted({skip.lane for skip in group})),
            benchmarks=tuple(sorted({_benchmark(skip.tool, skip.benchmark, skip.messages) for skip in group})),
            count=len(group),
        )
        for (reason, hint), group in groups.items()
    ]
    return tuple(sorted(views, key=lambda view: (-view.count, view.reason, view.hint)))


def troubles(records: Sequence[Record], launches: Launches) -> tuple[Trouble, ...]:
    """Returns the launches that failed, are unreadable, did not end or were lost, by kind and reason."""
    losses = Counter(r.launch.id for r in records if r.launch and r.state in LOST_STATES)
    others = Counter(r.launch.id for r in records if r.launch and r.state not in LOST_STATES)

    def why(record: Record) -> str:
        if record.state not in LOST_STATES or record.launch is None:
            return record.reason
        name = record.launch.id
        again = "repeated" if others[name] else "repeated, and lost again" if losses[name] > 1 else "not repeated"
        return "; ".join(part for part in (record.reason.strip(), again) if part)

    return _grouped([(record, why(record)) for record in records if record.state in _TROUBLE], launches)


def binding_problems(records: Sequence[Record], launches: Launches) -> tuple[Trouble, ...]:
    """Returns the launches whose ranks used other CPUs or ports than the requested ones, by reason.

    Their values count, but are not comparable with those of launches with the requested binding.
    """
    return _grouped([(record, record.binding.problem) for record in records if record.binding.problem], launches)


def _grouped(reasons: Sequence[tuple[Record, str]], launches: Launches) -> tuple[Trouble, ...]:
    by_reason: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record, reason in reasons:
        by_reason[record.state, _what(record), reason].append(record)
    return tuple(
        Trouble(
            state,
            STATE_SYMBOLS[state],
            what,
            reason.strip("\n") or "no reason was recorded",
            launches.links(group),
        )
        for (state, what, reason), group in sorted(by_reason.items(), key=lambda item: item[0])
    )


def rows(records: Sequence[Record], launches: Launches) -> list[LaunchView]:
    """Every launch, in the order of the records."""
    return [_row(record, launches) for record in records]


def states(records: Sequence[Record]) -> str:
    """The number of launches in each state, as text."""
    counts: Counter[str] = Counter(record.state for record in records)
    parts = ", ".join(f"{counts[s]} {s}" for s in STATE_SYMBOLS if counts[s])
    return f"{plural(len(records), 'launch', 'launches')}: {parts}" if records else "there are no launches"


def _benchmark(tool: str, benchmark: str, messages: str | None) -> str:
    return f"{tool} {benchmark}" + (f" ({messages})" if messages else "")


def _what(record: Record) -> str:
    launch = record.launch
    if launch is None:
        return "an unreadable launch"
    return f"{launch.lane}, {_benchmark(launch.tool, launch.benchmark, launch.messages)}"


def _row(record: Record, launches: Launches) -> LaunchView:
    launch, load = record.launch, record.foreign_cpu_share
    mode = "" if launch is None or launch.mode in ("timed", launch.benchmark) else f" ({launch.mode})"
    return LaunchView(
        anchor=launches.anchor(record),
        href=launches.href(record),
        directory=record.directory,
        block=str(launch.block) if launch else MISSING,
        position=str(launch.position) if launch else MISSING,
        lane=launch.lane if launch else MISSING,
        tool=launch.tool if launch else MISSING,
        benchmark=launch.benchmark + mode if launch else MISSING,
        messages=(launch.messages if launch else None) or MISSING,
        scale=scale_text(launch.nodes, launch.ranks) if launch else MISSING,
        scale_key=str(launch.ranks) if launch else "",
        state=record.state,
        symbol=STATE_SYMBOLS[record.state],
        seconds=number(record.seconds, 3),
        seconds_key="" if record.seconds is None else f"{record.seconds:.3f}",
        load=percent(load, 2),
        load_key="" if load is None else f"{load:.4f}",
        loaded=load is not None and load > FOREIGN_LOAD,
    )
