# SPDX-License-Identifier: Apache-2.0
"""Prints how an attribution follows from the files of its launches, so that it can be recomputed by hand."""

from collections.abc import Iterator

from fabricbench.errors import BadInput, nearest
from fabricbench.models.attribution import certain_cost, has_barriers, operation_parts
from fabricbench.models.costs import Cost, cost_of
from fabricbench.models.parts import PARTS
from fabricbench.parsers.tau.operations import Operations
from fabricbench.stats.interval import Interval
from fabricbench.verdict.attribution import Attribution, Attributions, BlockAttribution, ProfiledLaunch
from fabricbench.verdict.profiles import ProfileKey
from fabricbench.verdict.sentences import sentence


def explain_attribution(name: str, found: Attributions) -> list[str]:
    """Returns lines of text for the attributions called ``name``, ``ft.A/openmpi@tcp``, or for a refused profile.

    Raises BadInput with the nearest names.
    """
    names = {cell_name(key) for key in (*(one.key for one in found.items), *(one.key for one in found.refused))}
    if name not in names:
        raise BadInput(f"unknown cell '{name}'", expected=nearest(name, names))
    lines = [f"{name}: not attributed: {one.reason}" for one in found.refused if cell_name(one.key) == name]
    for one in found.items:
        if cell_name(one.key) == name:
            lines += _lines(one, found.launches[one.key])
    return lines


def cell_name(key: ProfileKey) -> str:
    """Returns the name of an attribution: benchmark and lane, as in ``ft.A/openmpi@tcp``."""
    return f"{key.benchmark}/{key.lane.name}"


def _lines(one: Attribution, launches: tuple[ProfiledLaunch, ...]) -> Iterator[str]:
    yield sentence(one)
    yield f"  profiler {one.key.profiler}, {one.key.nodes} node(s), case '{one.key.case}'; witnesses: {one.agreement}"
    for curve, command in one.missing:
        yield f"  no curve of {curve}; measure it: {command}"
    for note in one.notes:
        yield f"  note: {note}"
    for launch, block in zip(launches, one.blocks, strict=False):
        yield ""
        yield from _launch(launch, block)
    if one.blocks:
        yield ""
        yield f"  medians over {one.seconds.n} blocks, shares of T with their intervals:"
        yield from (f"    {part:<14} {_percent(one.shares[part])}" for part in PARTS)
        yield f"    closing error  {_percent(one.closing_error)}"
        yield f"    unexplained    {_percent(one.unexplained)}"


def _launch(launch: ProfiledLaunch, block: BlockAttribution) -> Iterator[str]:
    yield f"  block {block.block}: launches/{block.launch}/profile.*"
    if block.run_time is not None and block.timed is not None:
        yield f"    run time {block.run_time:.6g} s without the profiler's cost; timed launch {block.timed:.6g} s"
    stamped = any(one.matched for rank in launch.ranks for one in rank.operations)
    for rank, parts in zip(launch.ranks, block.run.ranks, strict=True):
        total = parts.parts
        yield f"    rank {rank.rank}: T {rank.seconds:.6g} s = " + " + ".join(
            f"{name} {getattr(total, name):.6g}" for name in PARTS
        )
        for one in sorted(rank.operations, key=lambda one: -one.seconds)[:MOST_OPERATIONS]:
            yield from _operation(one, launch, stamped, has_barriers(rank))


MOST_OPERATIONS = 8
"""The operations of a rank that are printed: those with the most time."""


def _operation(one: Operations, launch: ProfiledLaunch, stamped: bool, synced: bool) -> Iterator[str]:
    size = "size unknown" if one.bytes is None else f"{one.bytes:g} B{' in the mean' if one.spread else ''}"
    name = one.operation or one.call
    through = "" if one.call == name else f" in {one.call}"
    yield f"      {one.count} x {name}{through}, {size}: {one.seconds:.6g} s"
    cost = cost_of(one, launch.curves)
    if isinstance(cost, Cost):
        cost = certain_cost(cost, one)
        beyond = ", beyond the largest measured size" if cost.extrapolates else ""
        yield f"        curve: {1e6 * cost.whole:.5g} us each, {1e6 * cost.first:.5g} us at the smallest size{beyond}"
    else:
        yield f"        no curve of {cost}"
    if one.matched:
        early = sum(start.seconds for start in one.head_starts)
        count = sum(start.count for start in one.head_starts)
        late = f"{one.late_seconds:.6g} s before the partner"
        yield f"        time stamps of {one.matched}: {late}; {count} partners first, by {early:.6g} s together"
    parts = operation_parts(one, launch.curves, stamped, synced)
    yield "        = " + " + ".join(f"{name} {getattr(parts, name):.6g}" for name in PARTS[1:])


def _percent(interval: Interval) -> str:
    if interval.estimate is None:
        return "-"
    text = f"{100 * interval.estimate:.3g} %"
    if interval.low is None or interval.high is None:
        return text
    return f"{text} ({100 * interval.low:.3g} to {100 * interval.high:.3g})"
