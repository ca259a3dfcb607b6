# SPDX-License-Identifier: Apache-2.0
"""Derives values of rounds and launches from node pairs with known values; detects missing pairs."""

from pathlib import Path

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Payload, Row
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools.micro import parse
from fabricbench.parsers.tools.micro.node_pairs import rows

ROUNDS = {"0": (("a", "d"), ("b", "c")), "1": (("a", "b"), ("c", "d")), "2": (("a", "c"), ("b", "d"))}
FACTS = {"rounds": "0,1,2", "pairs_per_round": "2", "directions": "2"}


def row(metric: str, case: str, value: float) -> Row:
    return Row(benchmark="x", case=case, metric=metric, msg_size_bytes=8, value=value)


def measured(metric: str, values: dict[tuple[str, str], float]) -> list[Row]:
    return [
        row(metric, f"from={one} round={number} to={other} window=4", values[one, other])
        for number, pairs in ROUNDS.items()
        for pair in pairs
        for one, other in (pair, pair[::-1])
        if (one, other) in values
    ]


def everyone(value: float = 100.0) -> dict[tuple[str, str], float]:
    return {(one, other): value for one in "abcd" for other in "abcd" if one != other}


def test_bandwidth_of_node_pairs_and_of_rounds() -> None:
    values = everyone() | {("a", "b"): 50.0, ("b", "a"): 10.0}
    result = {(r.metric, r.case): r.value for r in rows(measured("bandwidth", values), FACTS)}
    assert result["bandwidth", "from=a to=b window=4"] == 50
    assert result["bandwidth", "from=b to=a window=4"] == 10
    assert result["bandwidth", "window=4"] == 100
    assert result["bandwidth_min", "window=4"] == 10
    # Round 1 has a-b and c-d: 50 + 100 in one direction, 10 + 100 in the other.
    assert result["bisection_bandwidth", "round=1 window=4"] == 130
    assert result["bisection_bandwidth", "round=0 window=4"] == 200
    assert result["bisection_bandwidth", "window=4"] == pytest.approx(530 / 3)
    assert result["bisection_bandwidth_min", "window=4"] == 130
    assert len(result) == 12 + 4 + 3


def test_latency_of_node_pairs() -> None:
    values = {pair: 5.0 for pairs in ROUNDS.values() for pair in pairs} | {("b", "c"): 9.0}
    result = {(r.metric, r.case): r.value for r in rows(measured("latency", values), FACTS | {"directions": "1"})}
    assert result["latency", "window=4"] == 5
    assert result["latency_max", "window=4"] == 9
    assert result["latency", "from=b to=c window=4"] == 9
    assert len(result) == 6 + 2


@pytest.mark.parametrize("missing", [("a", "b"), ("d", "c")])
def test_a_missing_node_pair_is_unreadable(missing: tuple[str, str]) -> None:
    values = everyone()
    del values[missing]
    with pytest.raises(Unreadable, match="2 pairs in round 1, 2 directions each"):
        list(rows(measured("bandwidth", values), FACTS))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"rounds": "0,1,2,3"}, "rounds 0,1,2,3, not 0,1,2"),
        ({"rounds": ""}, "not 0,1,2"),
        ({"pairs_per_round": "3"}, "3 pairs in round 0"),
        ({"pairs_per_round": "many"}, "a whole number, not 'many'"),
        ({"directions": "1"}, "2 pairs in round 0, 1 directions"),
    ],
)
def test_header_lines_that_contradict_the_node_pairs(facts: dict[str, str], expected: str) -> None:
    with pytest.raises(Unreadable, match=expected):
        list(rows(measured("bandwidth", everyone()), FACTS | facts))


def test_a_case_without_a_node_pair() -> None:
    with pytest.raises(Unreadable, match="from, to and round"):
        list(rows([row("latency", "from=a to=b", 1.0)], FACTS))


def test_a_complete_output(tmp_path: Path) -> None:
    """In the program's output each pair is a case with its own facts."""
    lines = ["#@ranks=2", "#@reporting_ranks=1", "#@directions=1", "#@pairs_per_round=1", "#@rounds=0"]
    lines += ["benchmark,case,msg_size_bytes,rank,sample,value,metric", "#@iterations.from:n1,round:0,to:n2.8=3"]
    lines += [f"pair_latency,from=n1 round=0 to=n2,8,0,{i},{value},latency_us" for i, value in enumerate((4, 9, 5))]
    lines += ["#@verified=yes", "#@payload_bytes=80", "#@payload_messages=10", "#@end=ok", ""]
    facts = {"id": "x", "block": 0, "position": 0, "system": "s", "fabric": "f", "transport": "tcp", "stack": "s"}
    facts |= {"tool": "micro", "benchmark": "pair_latency", "nodes": 2, "argv": [], "limit_seconds": 1, "ranks": 2}
    launch = Launch.model_validate(facts)
    (tmp_path / "stdout").write_text("\n".join(lines))
    parsed = parse(tmp_path, launch)
    assert parsed.payload == Payload(bytes=80, messages=10)
    assert {(r.metric, r.case, r.value) for r in parsed.rows} == {
        ("latency", "from=n1 to=n2", 5), ("latency", "", 5), ("latency_max", "", 5),
    }  # fmt: skip
    (tmp_path / "stdout").write_text("\n".join(line for line in lines if ",1,9," not in line))
    with pytest.raises(Unreadable, match="3 samples"):
        parse(tmp_path, launch)
