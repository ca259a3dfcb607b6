# SPDX-License-Identifier: Apache-2.0
"""Derives the values of node pairs, rounds and launches from the samples of all node pairs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean, median

from fabricbench.launch.facts import canonical_case, case_parts
from fabricbench.launch.record import Row
from fabricbench.parsers.output import Unreadable, whole
from fabricbench.parsers.tools.micro.description import MEASURED

BENCHMARKS = tuple(sorted(name for name, benchmark in MEASURED.items() if benchmark.rounds))
"""The benchmarks of every rank pair."""

Pair = tuple[str, str]
Rounds = dict[str, dict[Pair, float]]
"""The values of a round's pairs, by round."""


def rows(pair_rows: Iterable[Row], header: Mapping[str, str]) -> Iterator[Row]:
    """Yields the latency or bandwidth of each node pair (``from=a to=b`` in its case), and summaries over the pairs.

    The summaries are the median over pairs and the worst pair. Bandwidth also has the sum over the disjoint pairs of a
    round, as the mean of its directions: per round (``round=3``), the mean over rounds and the least. The mean over
    rounds is the effective bisection bandwidth of Hoefler et al. 2008 if the pairs ran at once. Raises Unreadable if
    pairs of the header are missing.
    """
    points: dict[tuple[str, str, int | None], tuple[Row, Rounds]] = {}
    for row in pair_rows:
        if row.metric not in ("latency", "bandwidth"):
            continue
        case = case_parts(row.case)
        try:
            pair, number = (case.pop("from"), case.pop("to")), case.pop("round")
        except KeyError:
            raise Unreadable("stdout", None, f"from, to and round in the case '{row.case[:80]}'") from None
        point = row.model_copy(update={"case": canonical_case(case)})
        rounds = points.setdefault((point.case, point.metric, point.msg_size_bytes), (point, defaultdict(dict)))[1]
        rounds[number][pair] = row.value
        yield point.model_copy(update={"case": canonical_case(case | {"from": pair[0], "to": pair[1]})})
    for point, rounds in points.values():
        directions = _directions(rounds, header)
        yield from _latency(point, rounds) if point.metric == "latency" else _bandwidth(point, rounds, directions)


def _directions(rounds: Rounds, header: Mapping[str, str]) -> int:
    """Returns the number of directions of each pair; raises Unreadable if pairs or rounds are missing."""
    pairs, directions = (whole(header.get(key, ""), "stdout", None) for key in ("pairs_per_round", "directions"))
    expected = header.get("rounds", "").split(",")
    if set(rounds) != set(expected):
        raise Unreadable("stdout", None, f"rounds {','.join(expected)[:80]}, not {','.join(rounds)[:80]}")
    for number, values in rounds.items():
        if len(values) != pairs * directions or len({frozenset(pair) for pair in values}) != pairs:
            raise Unreadable("stdout", None, f"{pairs} pairs in round {number[:10]}, {directions} directions each")
    return directions


def _latency(point: Row, rounds: Rounds) -> Iterator[Row]:
    values = _values(rounds)
    yield _row(point, "latency", median(values))
    yield _row(point, "latency_max", max(values))


def _bandwidth(point: Row, rounds: Rounds, directions: int) -> Iterator[Row]:
    values = _values(rounds)
    yield _row(point, "bandwidth", median(values))
    yield _row(point, "bandwidth_min", min(values))
    sums = {number: sum(pairs.values()) / directions for number, pairs in rounds.items()}
    yield _row(point, "bisection_bandwidth", fmean(sums.values()))
    yield _row(point, "bisection_bandwidth_min", min(sums.values()))
    for number, total in sums.items():
        of_round = point.model_copy(update={"case": canonical_case(case_parts(point.case) | {"round": number})})
        yield _row(of_round, "bisection_bandwidth", total)


def _values(rounds: Rounds) -> list[float]:
    return [value for pairs in rounds.values() for value in pairs.values()]


def _row(point: Row, metric: str, value: float) -> Row:
    return point.model_copy(update={"metric": metric, "value": round(value, 6)})
