# SPDX-License-Identifier: Apache-2.0
"""Derives the values of a launch from known samples of each kind."""

from pathlib import Path

import pytest

from fabricbench.parsers.output import Unreadable
from support.launches import launch_of
from support.micro_output import SMALL, Series, by_case, output, parse_text


def test_a_window_without_its_number_of_messages_has_no_rate(tmp_path: Path) -> None:
    """A rate of 0 messages per second would be wrong."""
    for facts in ({}, {"messages_per_run": 0}):
        text = output("unidirectional", ("window_us", "window=64", 8, {0: [1.0]}, facts))
        with pytest.raises(Unreadable, match="expected messages_per_run of unidirectional at 8 bytes"):
            parse_text(tmp_path, text)


def test_windows_have_the_amounts_of_the_header(tmp_path: Path) -> None:
    text = output(
        "unidirectional",
        ("window_us", "window=64", 0, {0: [4.0, 2.0, 3.0]}, {"bytes_per_run": 0, "messages_per_run": 64}),
        ("window_us", "window=64", 100, {0: [9.0, 5.0, 4.0]}, {"bytes_per_run": 6400, "messages_per_run": 64}),
    )
    assert by_case(parse_text(tmp_path, text)) == {
        ("message_rate", "window=64", 0): pytest.approx(64e6 / 3),
        ("message_rate", "window=64", 100): 12.8e6,
        ("bandwidth", "window=64", 100): 1280.0,
        ("bandwidth_mean", "window=64", 100): pytest.approx(6400 / 6),
    }


def test_one_sided_operations_and_windows(tmp_path: Path) -> None:
    amounts = {"bytes_per_run": 640, "messages_per_run": 64}
    text = output(
        "put",
        ("operation_us", "sync=lock", 10, {0: [1.0, 2.0, 6.0]}, {}),
        ("window_us", "sync=lock", 10, {0: [2.0, 2.0, 2.0]}, amounts),
        several=True,
    )
    assert by_case(parse_text(tmp_path, text)) == {
        ("latency", "sync=lock", 10): 2.0,
        ("latency_mean", "sync=lock", 10): 3.0,
        ("bandwidth", "sync=lock", 10): 320.0,
        ("bandwidth_mean", "sync=lock", 10): 320.0,
        ("message_rate", "sync=lock", 10): 32e6,
    }


def test_a_collective_has_the_median_of_each_rank(tmp_path: Path) -> None:
    ranks = {0: [1.0, 2.0, 9.0], 1: [4.0, 6.0, 5.0]}
    for size in (8, None):
        text = output("allreduce", ("call_us", "", size, ranks, {}), reporting=2)
        result = by_case(parse_text(tmp_path, text))
        assert result == {("time", "", size): 3.5, ("time_min", "", size): 2.0, ("time_max", "", size): 5.0}


def test_the_gap_is_a_flood_minus_a_round_trip(tmp_path: Path) -> None:
    series: list[Series] = [
        ("round_trip_us", "", 8, {0: [20.0, 30.0, 10.0]}, {}),
        ("send_overhead_us", "", 8, {0: [2.0]}, {}),
        ("receive_overhead_us", "", 8, {0: [3.0]}, {}),
        ("flood_us", "", 8, {0: [82.0]}, {"bytes_per_run": 256, "messages_per_run": 32}),
    ]
    assert by_case(parse_text(tmp_path, output("plogp", *series, several=True))) == {
        ("round_trip", "", 8): 20.0,
        ("send_overhead", "", 8): 2.0,
        ("receive_overhead", "", 8): 3.0,
        ("gap", "", 8): 2.0,
    }
    with pytest.raises(Unreadable, match="round_trip_us"):
        parse_text(tmp_path, output("plogp", *series[1:], several=True))


def test_overlap_is_the_hidden_share_of_the_shorter_part(tmp_path: Path) -> None:
    text = output(
        "progress",
        ("base_us", "side=sender", 8, {0: [10.0]}, {}),
        ("silent_us", "side=sender", 8, {0: [50.0]}, {"work_us": "40.000"}),
        ("tested_us", "side=sender", 8, {0: [41.0]}, {"work_us": "40.000"}),
        several=True,
    )
    result = by_case(parse_text(tmp_path, text))
    assert result == {("progress", "side=sender", 8): 0.0, ("progress_tested", "side=sender", 8): 0.9}
    base: Series = ("base_us", "", 8, {0: [4.0]}, {})
    for work, share in ((4.0, 1.0), (8.0, 0.0), (9.0, -0.25)):
        text = output("overlap", base, ("worked_us", "", 8, {0: [work]}, {"work_us": 4}), several=True)
        assert by_case(parse_text(tmp_path, text))["overlap", "", 8] == share
    for damaged in (output("overlap", base, ("worked_us", "", 8, {0: [9.0]}, {}), several=True),
                   output("overlap", ("worked_us", "", 8, {0: [9.0]}, {"work_us": 4}), several=True)):  # fmt: skip
        with pytest.raises(Unreadable):
            parse_text(tmp_path, damaged)


def test_ratios_relate_to_the_plain_case_of_the_launch(tmp_path: Path) -> None:
    text = output(
        "posted",
        *[
            ("latency_us", f"queued={k} tags={tags}", 8, {0: [value]}, {})
            for tags, values in (("equal", (2.0, 3.0)), ("wildcard", (4.0, 10.0)))
            for k, value in zip((0, 16), values, strict=True)
        ],
    )
    result = by_case(parse_text(tmp_path, text))
    ratios = {case: value for (metric, case, _), value in result.items() if metric == "latency_ratio"}
    assert ratios == {
        "queued=0 tags=equal": 1.0,
        "queued=16 tags=equal": 1.5,
        "queued=0 tags=wildcard": 1.0,
        "queued=16 tags=wildcard": 2.5,
    }
    alone = output("reuse", ("latency_us", "reuse=50", 8, {0: [2.0]}, {}))
    assert ("latency_ratio", "reuse=50", 8) not in by_case(parse_text(tmp_path, alone))


def test_the_cases_of_launch_and_program_are_joined(tmp_path: Path) -> None:
    launch = launch_of(SMALL).model_copy(update={"case": {"rails": "striped"}})
    text = output("unidirectional", ("window_us", "window=64", 8, {0: [1.0]}, {"messages_per_run": 64}))
    assert {row.case for row in parse_text(tmp_path, text, launch).rows} == {"rails=striped window=64"}


def test_unsupported_points_of_the_program_are_skips(tmp_path: Path) -> None:
    text = output("unexpected", ("latency_us", "queued=0 tags=equal", 8, {0: [1.0]}, {}))
    launch = launch_of(SMALL).model_copy(update={"benchmark": "unexpected"})
    (skip,) = parse_text(tmp_path, text + "#@gap.queued:64,tags:equal.8=no <b>memory</b> = none\n", launch).skips
    assert (skip.benchmark, skip.case, skip.msg_size_bytes) == ("unexpected", "queued=64 tags=equal", 8)
    assert skip.reason == "no <b>memory</b> = none"
    with pytest.raises(Unreadable, match="a whole number"):
        parse_text(tmp_path, text + "#@gap.queued:64.x=no\n", launch)
