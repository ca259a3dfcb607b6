# SPDX-License-Identifier: Apache-2.0
"""Attributions and differences in words."""

from collections.abc import Iterator

from fabricbench.models.parts import PARTS
from fabricbench.stats.interval import Interval
from fabricbench.verdict.attribution import Attribution, Refusal
from fabricbench.verdict.difference import LaneDifference
from fabricbench.verdict.profiles import has_confidence

WORDS = {
    "computation": "computation",
    "latency": "latency",
    "bandwidth": "bandwidth",
    "waiting": "waiting",
    "undivided": "undivided",
    "rest": "rest",
}
"""The word for each part of ``PARTS`` in sentences and figures."""


def sentence(one: Attribution) -> str:
    """Returns an attribution in one sentence, with shares of the profiled time in percent.

    ``is.B on openmpi@tcp: 61 % of the run is MPI: bandwidth 48, latency 2, waiting 9, rest 2.``
    """
    key = one.key
    name = " ".join(word for word in (key.benchmark, key.case) if word)
    where = f"{name} on {key.lane.name}, {key.ranks} ranks"
    if one.missing:
        return f"{where}: not attributed, as the campaign lacks curves: {', '.join(curve for curve, _ in one.missing)}."
    computation = one.shares["computation"].estimate
    if computation is None:
        return f"{where}: not attributed."
    parts = sorted(
        ((one.shares[name].estimate or 0.0, word) for name, word in WORDS.items() if name != "computation"),
        key=lambda part: -abs(part[0]),
    )
    words = ", ".join(f"{word} {100 * share:.2g}".replace("-", "−") for share, word in parts if abs(share) >= 0.0005)
    label = f"; {one.label} dominates" if one.label else ""
    return f"{where}: {100 * (1 - computation):.2g} % of the run is MPI: {words or 'nothing measurable'}{label}."


def refusal(one: Refusal) -> str:
    """Returns why a profile is not attributed, as a sentence."""
    key = one.key
    name = " ".join(word for word in (key.benchmark, key.case) if word)
    return f"{name} on {key.lane.name}, {key.ranks} ranks: not attributed: {one.reason}."


def difference_lines(one: LaneDifference) -> Iterator[str]:
    """Yields a difference of two lanes as lines of text: dT and each part with its interval, and what is explained."""
    key = one.first.key
    name = " ".join(word for word in (key.benchmark, key.case) if word)
    lanes = f"{key.lane.name} minus {one.second.key.lane.name}"
    yield f"{name}, {key.ranks} ranks on {key.nodes} node(s), {key.profiler}: {lanes}, {len(one.blocks)} blocks"
    if not one.blocks:
        yield "  no block has both lanes"
        return
    yield f"  dT           {_milliseconds(one.total)}"
    for part in PARTS:
        share = _share(one.parts[part], one.total) if one.clear(one.total) else ""
        yield f"  d{_SHORT[part]:<11} {_milliseconds(one.parts[part])}{share}"
    if one.explained.estimate is None:
        yield f"  {_why_not_explained(one)}"
    else:
        yield f"  explained    {_percent(one.explained)} of dT"
    if side := one.clear(one.parts["computation"]):
        word = "longer" if side > 0 else "shorter"
        yield f"  the computation itself takes {word} on {key.lane.name} than on {one.second.key.lane.name}"


def _why_not_explained(one: LaneDifference) -> str:
    if has_confidence(one.total, one.confidence):
        return "the interval of dT includes 0, so there is nothing to explain"
    blocks = "1 block is" if one.total.n == 1 else f"{one.total.n} blocks are"
    return f"{blocks} too few for intervals of {100 * one.confidence:.3g} %, so no difference is shown"


_SHORT = {
    "computation": "U",
    "latency": "Lat",
    "bandwidth": "Bw",
    "waiting": "Sync",
    "undivided": "Undivided",
    "rest": "Rest",
}


def _milliseconds(interval: Interval) -> str:
    if interval.estimate is None:
        return "-"
    text = f"{1e3 * interval.estimate:10.4g} ms"
    return text if interval.low is None or interval.high is None else f"{text}  {_range(interval, 1e3)}"


def _range(interval: Interval, factor: float) -> str:
    return f"({factor * (interval.low or 0.0):.4g} to {factor * (interval.high or 0.0):.4g})"


def _share(part: Interval, total: Interval) -> str:
    if part.estimate is None or not total.estimate:
        return ""
    return f"  {100 * part.estimate / total.estimate:.3g} % of dT"


def _percent(interval: Interval) -> str:
    text = f"{100 * (interval.estimate or 0.0):.3g} %"
    return text if interval.low is None else f"{text} {_range(interval, 100)}"
