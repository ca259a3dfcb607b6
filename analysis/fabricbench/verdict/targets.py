# SPDX-License-Identifier: Apache-2.0
"""Selects the cells of a campaign to which a requirement applies, and the cells that are missing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from fabricbench.errors import BadInput
from fabricbench.launch.record import Unmeasured
from fabricbench.site.lane import LaneName
from fabricbench.site.requirements import LANE_KEYS, MANY, Requirement
from fabricbench.site.scale import scale_text
from fabricbench.verdict.series import CellKey, Series, counterpart, order
from fabricbench.verdict.unmeasured_cells import may_concern, not_measured, skipped_cells


@dataclass(frozen=True, slots=True)
class Target:
    """One cell to judge: ``measured`` and, for a ratio, ``reference``.

    ``absence``: the reason why one of them does not exist. ``applies``: whether the fabric can have such a cell.
    ``damaged``: whether the launch was lost or cannot be read, so that the cell is not skipped.
    """

    name: str
    requirement: Requirement
    lane: str
    against: str | None
    msg_size_bytes: int | None
    measured: CellKey | None
    reference: CellKey | None
    absence: str = ""
    applies: bool = True
    damaged: bool = False


def targets(
    requirement: Requirement, series: Mapping[CellKey, Series], unmeasured: Sequence[Unmeasured] = ()
) -> tuple[Target, ...]:
    """Returns the cells of a requirement, lane by lane and size by size; at least one.

    A target without ``measured`` stands for each cell that the campaign planned and did not measure, each listed size
    that a lane lacks, each listed name without any value, and for a requirement that selects nothing.
    """
    matched = [key for key in series if _selected(requirement, key)]
    planned = {key: skip for skip in unmeasured for key in _cells(requirement, skip) if key not in series}
    absences = [key for key in sorted(planned, key=order) if requirement.sizes.contains(key.msg_size_bytes)]
    varying, among_skips = _varying(matched), _varying([*matched, *planned])
    alike = {key._replace(msg_size_bytes=None) for key in matched}
    selection = sorted((key for key in matched if requirement.sizes.contains(key.msg_size_bytes)), key=order)
    results = [_target(requirement, key, varying, series, unmeasured) for key in selection]
    results += [_skip(requirement, key, among_skips, planned[key]) for key in absences]
    expected = [*matched, *(key for key, skip in planned.items() if skip.applies)]
    for key in _without_size(requirement, expected):
        results.append(
            _absent_size(requirement, key, varying if key._replace(msg_size_bytes=None) in alike else among_skips)
        )
    results += _vague(requirement, unmeasured, {target.lane for target in results})
    results += [
        _absent_name(requirement, column, name) for column, name in _absent_names(requirement, expected, results)
    ]
    if not results:
        results = [_absent_all(requirement, _other_scales(requirement, series))]
    return tuple(results)


def _cells(item: Requirement, skip: Unmeasured) -> Iterator[CellKey]:
    """Yields the cells of a skip that the requirement selects, apart from their sizes."""
    for key in skipped_cells(skip, item.benchmark, item.metric.name) if skip.tool == item.tool else ():
        if _selected(item, key):
            yield key


def _skip(item: Requirement, key: CellKey, varying: tuple[str, ...], skip: Unmeasured) -> Target:
    name = _name(item, key.lane, key, varying, key.msg_size_bytes)
    against = against_words(item, key) if item.relative else None
    applies = skip.applies or "case" in item.many
    return Target(
        name, item, key.lane, against, key.msg_size_bytes, None, None, not_measured(skip), applies, skip.damaged
    )


def _vague(item: Requirement, unmeasured: Sequence[Unmeasured], lanes: set[str]) -> Iterator[Target]:
    """Yields one target for each remaining lane with a skip whose rows are unknown."""
    results: dict[str, Unmeasured] = {}
    for skip in sorted(unmeasured, key=lambda skip: skip.benchmark != item.benchmark):
        lane = {column: getattr(skip, column) for column in LANE_KEYS}
        selected = all(lane[column] in item.many.get(column, (lane[column],)) for column in LANE_KEYS)
        if selected and may_concern(skip, item.tool, item.benchmark) and not _is_denominator(item, lane):
            results.setdefault(skip.lane, skip)
    for lane_words in sorted(results.keys() - lanes):
        skip = results[lane_words]
        changed = {column: str(value) for column, value in item.relative_to.items() if column in LANE_KEYS}
        parts = asdict(LaneName.of(lane_words))
        against = _lane_words(item, {**parts, **changed}) if item.relative else None
        yield Target(
            f"{item.id}/{lane_words}",
            item,
            lane_words,
            against,
            None,
            None,
            None,
            not_measured(skip),
            damaged=skip.damaged,
        )


def _is_denominator(item: Requirement, lane: Mapping[str, str]) -> bool:
    """Returns whether this lane is the denominator of the requirement."""
    changed = {column: value for column, value in item.relative_to.items() if column in LANE_KEYS}
    return len(changed) == len(item.relative_to) > 0 and all(lane[c] == value for c, value in changed.items())


def _why_no_denominator(item: Requirement, key: CellKey, unmeasured: Sequence[Unmeasured]) -> str:
    """Returns the reason of the skip that contains the denominator; empty if there is none."""
    denominator = CellKey(**{**key._asdict(), **item.relative_to})
    any_case = bool({"tool", "benchmark"} & item.relative_to.keys()) and "case" not in item.relative_to
    for skip in unmeasured:
        if skip.lane != denominator.lane:
            continue
        if may_concern(skip, denominator.tool, denominator.benchmark):
            return not_measured(skip)
        for one in skipped_cells(skip, denominator.benchmark, denominator.metric):
            if (one._replace(case=denominator.case) if any_case else one) == denominator:
                return not_measured(skip)
    return ""


def _selected(item: Requirement, key: CellKey) -> bool:
    """Returns whether the requirement selects the cell, apart from its size; a cell is never its own denominator."""
    if (key.tool, key.benchmark, key.metric) != (item.tool, item.benchmark, item.metric.name):
        return False
    columns = key._asdict()
    selected = all(columns[column] in names for column, names in item.many.items())
    has_counts = all(columns[column] == count for column, count in item.counts.items())
    itself = item.relative and all(columns[column] == value for column, value in item.relative_to.items())
    return selected and has_counts and not itself


def _varying(matched: list[CellKey]) -> tuple[str, ...]:
    """Returns the columns, apart from lane and size, that distinguish the requirement's cells in their names."""
    columns = ("system", "case", "ranks", "nodes")
    return tuple(c for c in columns if len({getattr(key, c) for key in matched}) > 1)


def _name(item: Requirement, lane: str, key: CellKey | None, varying: tuple[str, ...], size: int | None) -> str:
    more = [f"{column}={getattr(key, column)}".replace(" ", ",") for column in varying] if key else []
    return "/".join([item.id, lane, *more, *([] if size is None else [str(size)])])


def _target(
    item: Requirement,
    key: CellKey,
    varying: tuple[str, ...],
    series: Mapping[CellKey, Series],
    unmeasured: Sequence[Unmeasured],
) -> Target:
    name = _name(item, key.lane, key, varying, key.msg_size_bytes)
    if not item.relative:
        return Target(name, item, key.lane, None, key.msg_size_bytes, key, None)
    try:
        other = counterpart(key, item.relative_to, series)
    except BadInput as error:
        where = item.where("relative_to")
        raise BadInput(error.what, where=where, expected=error.expected) from None
    against = against_words(item, key)
    reason = "" if other else f"nothing measured to compare with: {against}"
    if reason and (why := _why_no_denominator(item, key, unmeasured)):
        reason += f"; {why}"
    return Target(name, item, key.lane, against, key.msg_size_bytes, key, other, reason)


def against_words(item: Requirement, key: CellKey) -> str:
    """Returns the denominator as text: its lane, and everything else that differs."""
    denominator = CellKey(**{**key._asdict(), **item.relative_to})
    changed = [f"{c}={value}" for c, value in item.relative_to.items() if c in ("case", "ranks", "nodes")]
    if {"tool", "benchmark", "metric"} & item.relative_to.keys():
        changed.insert(0, f"{denominator.tool} {denominator.benchmark} {denominator.metric}")
    return f"{denominator.lane} ({', '.join(changed)})" if changed else denominator.lane


def _without_size(item: Requirement, matched: list[CellKey]) -> Iterator[CellKey]:
    """Yields the cells of requested sizes that were not measured."""
    lanes: dict[CellKey, set[int | None]] = {}
    for key in matched:
        lanes.setdefault(key._replace(msg_size_bytes=None), set()).add(key.msg_size_bytes)
    for lane in sorted(lanes, key=order):
        sizes = lanes[lane]
        if item.sizes.values:
            yield from (lane._replace(msg_size_bytes=s) for s in item.sizes.values if s not in sizes)
        elif not any(item.sizes.contains(size) for size in sizes):
            yield lane


def _absent_size(item: Requirement, key: CellKey, varying: tuple[str, ...]) -> Target:
    size = key.msg_size_bytes
    what = "in the range of sizes" if size is None else f"at {size} bytes"
    against = against_words(item, key) if item.relative else None
    reason = f"nothing measured {what} on {key.lane}"
    return Target(_name(item, key.lane, key, varying, size), item, key.lane, against, size, None, None, reason)


def _absent_names(item: Requirement, matched: list[CellKey], results: Sequence[Target]) -> Iterator[tuple[str, str]]:
    """Yields the names that the requirement lists and no cell has, if other names of the list have cells."""
    lanes = [LaneName.of(target.lane) for target in results]
    for column in MANY:
        present = {getattr(key, column) for key in matched}
        if column in LANE_KEYS:
            present |= {getattr(lane, column) for lane in lanes}
        yield from ((column, name) for name in item.many.get(column, ()) if present and name not in present)


def _absent_name(item: Requirement, column: str, name: str) -> Target:
    lane = _lane_words(item, {column: name})
    tag = "" if column in LANE_KEYS else f"/{column}={name}".replace(" ", ",")
    reason = f"nothing measured for {column} '{name}'"
    return Target(f"{item.id}/{lane}{tag}", item, lane, None, None, None, None, reason)


def _other_scales(item: Requirement, measured: Iterable[CellKey]) -> str:
    """Returns the requested ``nodes`` and ``ranks``, and the scales that were measured in their place.

    Empty if the requirement selects neither, or if nothing was measured on other scales.
    """
    anywhere = replace(item, counts={})
    scales = sorted({(key.nodes, key.ranks) for key in measured if item.counts and _selected(anywhere, key)})
    requested = " ".join(f"{column}={count}" for column, count in item.counts.items())
    return f" with {requested}; measured on {', '.join(scale_text(*scale) for scale in scales)}" if scales else ""


def _absent_all(item: Requirement, scales: str) -> Target:
    """Returns the target of a requirement without any cell; ``scales`` is the end of the reason."""
    lane = _lane_words(item, {})
    size = item.sizes.values[0] if len(item.sizes.values) == 1 else None
    reason = f"nothing measured for it: {item.tool} {item.benchmark} {item.metric.name} on {lane}{scales}"
    return Target(_name(item, lane, None, (), size), item, lane, None, size, None, None, reason)


def _lane_words(item: Requirement, fixed: Mapping[str, str]) -> str:
    """Returns the lane as far as the requirement names it; ``*`` stands for any name."""
    stack, fabric, variant = (fixed.get(c) or "+".join(item.many.get(c, ("*",))) for c in LANE_KEYS)
    return LaneName(stack, fabric, "" if variant == "*" else variant).name
