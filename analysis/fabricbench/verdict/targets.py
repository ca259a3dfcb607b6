# SPDX-License-Identifier: Apache-2.0
"""Which cells of a campaign a requirement is about, and what is missing for it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricbench.errors import BadInput
from fabricbench.launch.record import Unmeasured
from fabricbench.site.lane import lane_name, lane_parts
from fabricbench.site.requirements import LANE_KEYS, MANY, Requirement
from fabricbench.verdict import skipped
from fabricbench.verdict.series import CellKey, Series, counterpart, order


@dataclass(frozen=True, slots=True)
class Target:
    """One cell to judge: ``measured`` and, for a ratio, ``reference``; ``missing`` says why one of them is not there,
    ``applies`` whether the fabric has what the cell is about, ``damaged`` whether it was lost and not a skip."""

    name: str
    requirement: Requirement
    lane: str
    against: str | None
    msg_size_bytes: int | None
    measured: CellKey | None
    reference: CellKey | None
    missing: str = ""
    applies: bool = True
    damaged: bool = False


def targets(
    requirement: Requirement, series: Mapping[CellKey, Series], unmeasured: Sequence[Unmeasured] = ()
) -> tuple[Target, ...]:
    """The requirement's cells, lane by lane and size by size; never none.

    A cell that the campaign planned and did not measure, a listed size that a lane lacks, a named stack or fabric
    without any value, and a requirement that selects nothing at all each give a target without ``measured``.
    """
    matched = [key for key in series if _selected(requirement, key)]
    planned = {key: skip for skip in unmeasured for key in _cells(requirement, skip) if key not in series}
    missing = [key for key in sorted(planned, key=order) if requirement.sizes.contains(key.msg_size_bytes)]
    varying, among_skips = _varying(matched), _varying([*matched, *planned])
    alike = {key._replace(msg_size_bytes=None) for key in matched}
    chosen = sorted((key for key in matched if requirement.sizes.contains(key.msg_size_bytes)), key=order)
    found = [_target(requirement, key, varying, series, unmeasured) for key in chosen]
    found += [_skip(requirement, key, among_skips, planned[key]) for key in missing]
    expected = [*matched, *(key for key, skip in planned.items() if skip.applies)]
    for key in _without_size(requirement, expected):
        found.append(
            _absent_size(requirement, key, varying if key._replace(msg_size_bytes=None) in alike else among_skips)
        )
    found += _vague(requirement, unmeasured, {target.lane for target in found})
    found += [_absent_name(requirement, column, name) for column, name in _unseen(requirement, expected, found)]
    if not found:
        found = [_absent_all(requirement)]
    return tuple(found)


def _cells(item: Requirement, skip: Unmeasured) -> Iterator[CellKey]:
    """The cells of a skip that the requirement selects, their sizes aside."""
    for key in skipped.cells(skip, item.benchmark, item.metric.name) if skip.tool == item.tool else ():
        if _selected(item, key):
            yield key


def _skip(item: Requirement, key: CellKey, varying: tuple[str, ...], skip: Unmeasured) -> Target:
    name = _name(item, key.lane, key, varying, key.msg_size_bytes)
    against = against_words(item, key) if item.relative else None
    applies = skip.applies or "case" in item.many
    return Target(
        name, item, key.lane, against, key.msg_size_bytes, None, None, skipped.why(skip), applies, skip.damaged
    )


def _vague(item: Requirement, unmeasured: Sequence[Unmeasured], lanes: set[str]) -> Iterator[Target]:
    """One target for each other lane with a skip of which it is not known which rows it keeps from being measured."""
    found: dict[str, Unmeasured] = {}
    for skip in sorted(unmeasured, key=lambda skip: skip.benchmark != item.benchmark):
        lane = {column: getattr(skip, column) for column in LANE_KEYS}
        named = all(lane[column] in item.many.get(column, (lane[column],)) for column in LANE_KEYS)
        if named and skipped.may_be(skip, item.tool, item.benchmark) and not _is_denominator(item, lane):
            found.setdefault(skip.lane, skip)
    for lane_words in sorted(found.keys() - lanes):
        skip = found[lane_words]
        changed = {column: str(value) for column, value in item.relative_to.items() if column in LANE_KEYS}
        parts = dict(zip(LANE_KEYS, lane_parts(lane_words), strict=True))
        against = _lane_words(item, {**parts, **changed}) if item.relative else None
        yield Target(
            f"{item.id}/{lane_words}",
            item,
            lane_words,
            against,
            None,
            None,
            None,
            skipped.why(skip),
            damaged=skip.damaged,
        )


def _is_denominator(item: Requirement, lane: Mapping[str, str]) -> bool:
    """Whether the requirement compares with this very lane."""
    changed = {column: value for column, value in item.relative_to.items() if column in LANE_KEYS}
    return len(changed) == len(item.relative_to) > 0 and all(lane[c] == value for c, value in changed.items())


def _why_no_denominator(item: Requirement, key: CellKey, unmeasured: Sequence[Unmeasured]) -> str:
    """The skip's reason where the denominator is one; empty where nothing is known of it."""
    wanted = CellKey(**{**key._asdict(), **item.relative_to})
    any_case = bool({"tool", "benchmark"} & item.relative_to.keys()) and "case" not in item.relative_to
    for skip in unmeasured:
        if skip.lane != wanted.lane:
            continue
        if skipped.may_be(skip, wanted.tool, wanted.benchmark):
            return skipped.why(skip)
        for one in skipped.cells(skip, wanted.benchmark, wanted.metric):
            if (one._replace(case=wanted.case) if any_case else one) == wanted:
                return skipped.why(skip)
    return ""


def _selected(item: Requirement, key: CellKey) -> bool:
    """Whether the cell is selected, its size aside; a cell is never compared with itself."""
    columns = key._asdict()
    same = (key.tool, key.benchmark, key.metric) == (item.tool, item.benchmark, item.metric.name)
    named = all(columns[column] in names for column, names in item.many.items())
    counted = all(columns[column] == count for column, count in item.counts.items())
    itself = item.relative and all(columns[column] == value for column, value in item.relative_to.items())
    return same and named and counted and not itself


def _varying(matched: list[CellKey]) -> tuple[str, ...]:
    """The columns beside lane and size that tell the requirement's cells apart, for their names."""
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
    missing = "" if other else f"nothing measured to compare with: {against}"
    if missing and (why := _why_no_denominator(item, key, unmeasured)):
        missing += f"; {why}"
    return Target(name, item, key.lane, against, key.msg_size_bytes, key, other, missing)


def against_words(item: Requirement, key: CellKey) -> str:
    """The denominator in words: its lane, and whatever else differs."""
    wanted = CellKey(**{**key._asdict(), **item.relative_to})
    changed = [f"{c}={value}" for c, value in item.relative_to.items() if c in ("case", "ranks", "nodes")]
    if {"tool", "benchmark", "metric"} & item.relative_to.keys():
        changed.insert(0, f"{wanted.tool} {wanted.benchmark} {wanted.metric}")
    return f"{wanted.lane} ({', '.join(changed)})" if changed else wanted.lane


def _without_size(item: Requirement, matched: list[CellKey]) -> Iterator[CellKey]:
    """Cells that should be there, for sizes that are asked for and were not measured."""
    lanes: dict[CellKey, set[int | None]] = {}
    for key in matched:
        lanes.setdefault(key._replace(msg_size_bytes=None), set()).add(key.msg_size_bytes)
    for lane in sorted(lanes, key=order):
        sizes = lanes[lane]
        if item.sizes.listed:
            yield from (lane._replace(msg_size_bytes=s) for s in item.sizes.listed if s not in sizes)
        elif not any(item.sizes.contains(size) for size in sizes):
            yield lane


def _absent_size(item: Requirement, key: CellKey, varying: tuple[str, ...]) -> Target:
    size = key.msg_size_bytes
    what = "in the range of sizes" if size is None else f"at {size} bytes"
    against = against_words(item, key) if item.relative else None
    missing = f"nothing measured {what} on {key.lane}"
    return Target(_name(item, key.lane, key, varying, size), item, key.lane, against, size, None, None, missing)


def _unseen(item: Requirement, matched: list[CellKey], found: Sequence[Target]) -> Iterator[tuple[str, str]]:
    """Names that the requirement lists and no cell has, where other names of the list have one."""
    lanes = [lane_parts(target.lane) for target in found]
    for column in MANY:
        seen = {getattr(key, column) for key in matched}
        if column in LANE_KEYS:
            seen |= {parts[LANE_KEYS.index(column)] for parts in lanes}
        yield from ((column, name) for name in item.many.get(column, ()) if seen and name not in seen)


def _absent_name(item: Requirement, column: str, name: str) -> Target:
    lane = _lane_words(item, {column: name})
    tag = "" if column in LANE_KEYS else f"/{column}={name}".replace(" ", ",")
    missing = f"nothing measured for {column} '{name}'"
    return Target(f"{item.id}/{lane}{tag}", item, lane, None, None, None, None, missing)


def _absent_all(item: Requirement) -> Target:
    lane = _lane_words(item, {})
    size = item.sizes.listed[0] if len(item.sizes.listed) == 1 else None
    missing = f"nothing measured for it: {item.tool} {item.benchmark} {item.metric.name} on {lane}"
    return Target(_name(item, lane, None, (), size), item, lane, None, size, None, None, missing)


def _lane_words(item: Requirement, fixed: Mapping[str, str]) -> str:
    """The lane as far as the requirement names it, ``*`` for any."""
    stack, fabric, variant = (fixed.get(c) or "+".join(item.many.get(c, ("*",))) for c in LANE_KEYS)
    return lane_name(stack, fabric, "" if variant == "*" else variant)
