# SPDX-License-Identifier: Apache-2.0
"""The long table: its columns, its order, and missing values."""

import random
from typing import Any

import polars as pl

from fabricbench.launch.facts import Expected, Launch, canonical_case
from fabricbench.launch.record import Record, Row, SkippedSize
from fabricbench.launch.table import CELL, LANE, SCHEMA, table, usable
from fabricbench.metrics import METRICS
from fabricbench.site.lane import LaneName

COLUMNS = [
    *("system", "fabric", "transport", "stack", "variant", "tool", "benchmark", "case", "mode", "metric", "unit"),
    *("msg_size_bytes", "ranks", "nodes", "hosts", "block", "launch", "value", "better", "state"),
]
WHOLE = {"msg_size_bytes", "ranks", "nodes", "block"}
EXPECTED = (
    Expected(benchmark="pingpong", metric="latency", msg_sizes_bytes=(0, 8)),
    Expected(benchmark="barrier", metric="time"),
)


def row(benchmark: str, metric: str, size: int | None, value: float, case: str = "") -> Row:
    return Row(benchmark=benchmark, case=case, metric=metric, msg_size_bytes=size, value=value)


ROWS = (row("pingpong", "latency", 0, 1.5), row("pingpong", "latency", 8, 2.5), row("barrier", "time", None, 3.5))


def record(directory: str = "d", rows: tuple[Row, ...] = ROWS, state: str = "ok", **values: Any) -> Record:
    facts: dict[str, Any] = {
        **{"id": "x", "block": 0, "position": 0, "system": "local", "fabric": "gige", "transport": "tcp"},
        **{"stack": "mpich", "tool": "micro", "benchmark": "pingpong", "ranks": 2, "nodes": 1, "argv": ("x",)},
        **{"limit_seconds": 60.0, "expected": EXPECTED},
    }
    launch = Launch.model_validate(facts | values)
    return Record.model_validate(
        {"directory": directory, "launch": launch, "state": state, "rows": rows, "hosts": ("a", "b")}
    )


def test_columns_and_types() -> None:
    for frame in (table([]), table([record()])):
        assert frame.columns == COLUMNS
        for name, kind in frame.schema.items():
            assert kind == (pl.Int64 if name in WHOLE else pl.Float64 if name == "value" else pl.String)
    assert list(SCHEMA) == COLUMNS
    assert set(LANE) < set(CELL) < set(COLUMNS)


def test_a_row_contains_all_columns_of_its_launch() -> None:
    facts = record(variant="v", case={"b": True, "a": 1.5}, mode="checked", nodes=2, block=7)
    assert table([facts]).row(1, named=True) | {"case": ""} == {
        **{"system": "local", "fabric": "gige", "transport": "tcp", "stack": "mpich", "variant": "v"},
        **{"tool": "micro", "benchmark": "pingpong", "case": "", "mode": "checked", "metric": "latency"},
        **{"unit": "us", "msg_size_bytes": 0, "ranks": 2, "nodes": 2, "hosts": "a b", "block": 7, "launch": "d"},
        **{"value": 1.5, "better": "lower", "state": "ok"},
    }


def test_a_value_without_a_size() -> None:
    barrier = table([record()]).row(0, named=True)
    assert (barrier["benchmark"], barrier["msg_size_bytes"], barrier["value"]) == ("barrier", None, 3.5)


def test_every_metric_has_its_unit_and_direction() -> None:
    rows = tuple(row("b", name, None, 1.0) for name in METRICS)
    frame = table([record(rows=rows, expected=())])
    for name, unit, better in frame.select("metric", "unit", "better").iter_rows():
        assert (unit, better) == (METRICS[name].unit, METRICS[name].better)
    assert set(frame["metric"]) == set(METRICS)


def test_the_order_of_records_does_not_matter() -> None:
    rows = [*ROWS, row("pingpong", "latency", 8, 9.0, case="k=v")]
    records = [record(f"d{n}", rows=tuple(rows), block=n % 3) for n in range(10)]
    records.append(record("gone", rows=(), state="failed", block=1))
    expected = table(records).write_csv()
    draw = random.Random(5)
    for _ in range(20):
        draw.shuffle(records)
        shuffled = [each.model_copy(update={"rows": tuple(draw.sample(each.rows, len(each.rows)))}) for each in records]
        assert table(shuffled).write_csv() == expected
    assert table(records)["block"].is_sorted()


def test_missing_values_are_null_with_their_state() -> None:
    for state in ("failed", "unfinished", "unreadable"):
        frame = table([record(rows=(), state=state, case={"k": "v"})])
        assert frame.select("benchmark", "metric", "msg_size_bytes", "case", "value", "state").rows() == [
            ("barrier", "time", None, "k=v", None, state),
            ("pingpong", "latency", 0, "k=v", None, state),
            ("pingpong", "latency", 8, "k=v", None, state),
        ]


def test_only_missing_values_are_null() -> None:
    frame = table([record(rows=ROWS[:1])])
    assert frame.select("msg_size_bytes", "value").rows() == [(None, None), (0, 1.5), (8, None)]


def test_an_expected_row_may_name_its_case() -> None:
    expected = tuple(
        Expected(benchmark="pingpong", case=case, metric="latency", msg_sizes_bytes=(8,)) for case in ("k=1", "k=2")
    )
    frame = table([record(rows=(row("pingpong", "latency", 8, 9.0, case="k=1"),), expected=expected)])
    assert frame.select("case", "value").rows() == [("k=1", 9.0), ("k=2", None)]


def test_a_skipped_size_has_no_row() -> None:
    skip = SkippedSize(benchmark="pingpong", case="k=1", msg_size_bytes=8, reason="no buffers")
    expected = tuple(
        Expected(benchmark="pingpong", case=case, metric="latency", msg_sizes_bytes=(0, 8)) for case in ("k=1", None)
    )
    frame = table([record(rows=(), expected=expected).model_copy(update={"skips": (skip,)})])
    assert frame.select("case", "msg_size_bytes").rows() == [("", 0), ("k=1", 0)]


def test_refuted_values_are_kept_and_not_used() -> None:
    frame = table([record(state="refuted")])
    assert frame["value"].to_list() == [3.5, 1.5, 2.5]
    assert usable(frame).is_empty()


def test_rows_that_statistics_may_use() -> None:
    records = [record("a"), record("b", state="unknown"), record("c", mode="injected"), record("e", rows=ROWS[:1])]
    assert usable(table(records)).select("launch", "value").rows() == [("a", 3.5), ("a", 1.5), ("a", 2.5), ("e", 1.5)]


def test_a_wireup_and_an_unreadable_launch_have_no_rows() -> None:
    unreadable = Record(directory="x", launch=None, state="unreadable")
    assert table([record(mode="wireup"), unreadable]).is_empty()


def test_the_largest_numbers_fit() -> None:
    frame = table([record(rows=(row("b", "time", 2**63 - 1, 1e300),), expected=(), block=2**30 - 1, ranks=2**31 - 1)])
    assert frame.select("msg_size_bytes", "value", "block", "ranks").row(0) == (2**63 - 1, 1e300, 2**30 - 1, 2**31 - 1)


def test_hostile_text_is_data() -> None:
    text = "<script>\x1b[31m$(rm)`x`;'\"\\,\n\r\x00\u202e é"
    frame = table([record(text, stack=text, system=text, variant=text, benchmark=text, tool=text)])
    assert set(frame["launch"]) == set(frame["stack"]) == set(frame["tool"]) == {text}
    again = pl.read_json(frame.write_json().encode())
    assert set(again["stack"]) == {text}


def test_a_case_is_written_in_one_way() -> None:
    assert canonical_case({}) == ""
    assert canonical_case({"b": 1, "a": True, "c": "x", "d": 0.5}) == "a=true b=1 c=x d=0.5"
    assert canonical_case({"d": 0.5, "c": "x", "a": True, "b": 1}) == "a=true b=1 c=x d=0.5"


def test_names_of_lanes() -> None:
    assert LaneName("openmpi", "tcp").name == "openmpi@tcp"
    assert LaneName("mvapich2", "ib", "two-rails").name == "mvapich2@ib:two-rails"
    launch = record(variant="x").launch
    assert launch is not None
    assert launch.lane == "mpich@gige:x"
