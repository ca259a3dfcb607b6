# SPDX-License-Identifier: Apache-2.0
"""The output of the project's own benchmarks: statistics of known samples, captures, and everything cut or wrong."""

import contextlib
import random
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools.micro import COLUMNS, parse

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
SMALL = "impi-tcp-micro-pingpong-small"
CAPTURES = (SMALL, "openmpi-shm-micro-pingpong-small", "openmpi-tcp-micro-pingpong-large")


def launch_of(name: str = SMALL) -> Launch:
    return Launch.model_validate_json((LAUNCHES / name / "launch.json").read_bytes())


def text_of(name: str = SMALL) -> str:
    return (LAUNCHES / name / "stdout").read_text()


def parse_text(tmp_path: Path, text: str | bytes, launch: Launch | None = None) -> Parsed:
    (tmp_path / "stdout").write_bytes(text.encode() if isinstance(text, str) else text)
    return parse(tmp_path, launch or launch_of())


def synthetic(
    samples: Iterable[tuple[int, int, object]], *, ranks: object = 2, facts: str = "", verified: str = "yes"
) -> str:
    """An output with samples of (size, rank, value)."""
    samples = list(samples)
    counts = Counter(size for size, _rank, _value in samples)
    promised = [f"#@iterations.{size}={count}" for size, count in counts.items()]
    lines = [f"#@ranks={ranks}", *promised, facts, COLUMNS]
    lines += [f"pingpong,,{size},{rank},{at},{value},latency_us" for at, (size, rank, value) in enumerate(samples)]
    return "\n".join([*lines, f"#@verified={verified}", "#@end=ok", ""])


def values(parsed: Parsed) -> dict[tuple[str, int | None], float]:
    found = {(row.metric, row.msg_size_bytes): row.value for row in parsed.rows}
    assert len(found) == len(parsed.rows)
    return found


def test_known_samples(tmp_path: Path) -> None:
    # Size 1000, both ranks together: 2 4 6 100, so median 5 and mean 28; 1000 B / 5 us = 200 MB/s.
    text = synthetic([(0, 0, 3), (0, 0, 1), (0, 0, 2), (1000, 0, 100), (1000, 0, 4), (1000, 1, 2), (1000, 1, 6)])
    assert values(parse_text(tmp_path, text)) == {
        ("latency", 0): 2,
        ("latency_mean", 0): 2,
        ("latency", 1000): 5,
        ("latency_mean", 1000): 28,
        ("bandwidth", 1000): 200,
    }


def test_a_latency_of_nothing_has_no_bandwidth(tmp_path: Path) -> None:
    assert ("bandwidth", 8) not in values(parse_text(tmp_path, synthetic([(8, 0, 0), (8, 0, 0)])))


@pytest.mark.parametrize("name", CAPTURES)
def test_captured_samples(name: str) -> None:
    samples: dict[int, list[float]] = {}
    for line in text_of(name).splitlines():
        if line.endswith(",latency_us"):
            words = line.split(",")
            samples.setdefault(int(words[2]), []).append(float(words[5]))
    wanted = {}
    for size, each in samples.items():
        median = statistics.median(each)
        wanted["latency", size] = pytest.approx(median, abs=5e-7)
        wanted["latency_mean", size] = pytest.approx(statistics.fmean(each), abs=5e-7)
        if size:
            wanted["bandwidth", size] = pytest.approx(size / median, abs=5e-7)
    assert values(parse(LAUNCHES / name, launch_of(name))) == wanted
    assert len(samples) == 12


def test_the_captured_samples_at_0_bytes_by_hand() -> None:
    # The middle two of twenty are 4.582 and 4.747; all sum to 94.683.
    found = values(parse(LAUNCHES / SMALL, launch_of()))
    assert found["latency", 0] == 4.6645
    assert found["latency_mean", 0] == 4.73415


@pytest.mark.parametrize("name", CAPTURES[:2])
def test_captured_payload(name: str) -> None:
    # 12 sizes, 0 to 1024 B, sum to 2047; 1 verified, 100 warm-up, 20 timed round trips of two messages.
    payload = parse(LAUNCHES / name, launch_of(name)).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (2 * 121 * 2047, 2 * 121 * 12)


@pytest.mark.parametrize("name", CAPTURES)
def test_the_captures_hold_what_the_launch_expects(name: str) -> None:
    wanted = {(item.metric, size) for item in launch_of(name).expected for size in item.msg_sizes_bytes or ()}
    assert set(values(parse(LAUNCHES / name, launch_of(name)))) == wanted


# ---- connections over libfabric: the client's output between the lines of fabricbench-pair

ENDPOINTS = ("libfabric-shm-multiconn-small", "libfabric-tcp-multiconn-small")


@pytest.mark.parametrize("name", ENDPOINTS)
def test_every_number_of_connections_over_libfabric(name: str) -> None:
    samples: dict[tuple[str, str, str], list[float]] = {}
    for line in text_of(name).splitlines():
        if line.startswith("multiconn,"):
            _, case, bytes_, _, _, value, metric = line.split(",")
            samples.setdefault((metric, case, bytes_), []).append(float(value))
    wanted: dict[tuple[str, str, int | None], object] = {}
    for (metric, case, number), each in samples.items():
        size = int(number)
        assert len(each) == 10
        median, messages = statistics.median(each), 16 * int(case.removeprefix("connections="))
        if metric == "normalised_latency_us":
            wanted["normalised_latency", case, size] = pytest.approx(median, abs=5e-7)
        else:
            wanted["message_rate", case, size] = pytest.approx(messages / median * 1e6, abs=5e-7)
            if size:
                wanted["bandwidth", case, size] = pytest.approx(messages * size / median, abs=5e-7)
                wanted["bandwidth_mean", case, size] = pytest.approx(messages * size / statistics.fmean(each), abs=5e-7)
    parsed = parse(LAUNCHES / name, launch_of(name))
    assert {(row.metric, row.case, row.msg_size_bytes): row.value for row in parsed.rows} == wanted
    assert len(samples) == 2 * 2 * 5
    # 36 rounds of 2 messages and 21 windows of 16, on 1 and on 4 connections, of 0, 1, 8, 64 and 512 bytes; of what
    # follows each other on a connection one message counts.
    assert parsed.payload is not None
    assert (parsed.payload.bytes, parsed.payload.messages) == ((36 * 2 + 21 * 16) * 5 * 585, (36 + 21) * 2 * 5 * 5)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9])
def test_an_output_of_connections_that_is_cut(tmp_path: Path, kept: float) -> None:
    lines = text_of(ENDPOINTS[0]).splitlines()
    with pytest.raises(Unreadable, match="cut off"):
        parse_text(tmp_path, "\n".join(lines[: int(len(lines) * kept)]), launch_of(ENDPOINTS[0]))


def test_a_sample_of_connections_that_is_lost(tmp_path: Path) -> None:
    lines = [line for line in text_of(ENDPOINTS[0]).splitlines() if "connections=4,8,1,9," not in line]
    with pytest.raises(Unreadable, match="10 samples at 8 bytes, not 9"):
        parse_text(tmp_path, "\n".join(lines), launch_of(ENDPOINTS[0]))


def test_a_number_of_connections_that_was_refused_is_a_skip(tmp_path: Path) -> None:
    lines = [line for line in text_of(ENDPOINTS[0]).splitlines() if "connections:4" not in line]
    lines = [line for line in lines if not line.startswith("multiconn,connections=4")]
    lines.insert(-3, "#@gap.connections:4.8=fi_endpoint: Too many open files")
    parsed = parse_text(tmp_path, "\n".join(lines), launch_of(ENDPOINTS[0]))
    (skip,) = parsed.skips
    assert (skip.benchmark, skip.case, skip.msg_size_bytes) == ("multiconn", "connections=4", 8)
    assert skip.reason == "fi_endpoint: Too many open files"
    assert {row.case for row in parsed.rows} == {"connections=1"}


def test_no_payload_where_none_is_told(tmp_path: Path) -> None:
    assert parse_text(tmp_path, synthetic([(8, 0, 1)])).payload is None
    told = parse_text(tmp_path, synthetic([(8, 0, 1)], facts="#@payload_bytes=16\n#@payload_messages=2")).payload
    assert told is not None
    assert (told.bytes, told.messages) == (16, 2)


@pytest.mark.parametrize("payload", ["-1", "nan", "1e9", "", "٣"])
def test_a_payload_that_is_no_number(tmp_path: Path, payload: str) -> None:
    with pytest.raises(Unreadable, match="a whole number"):
        parse_text(tmp_path, synthetic([(8, 0, 1)], facts=f"#@payload_bytes={payload}"))


def test_what_was_not_verified_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="verified=yes"):
        parse_text(tmp_path, text_of().replace("#@verified=yes", "#@verified=no"))


@pytest.mark.parametrize("end", ["", "#@end=failed", "#@end=o", "#@end="])
def test_without_its_end_it_is_cut_off(tmp_path: Path, end: str) -> None:
    with pytest.raises(Unreadable, match="cut off"):
        parse_text(tmp_path, text_of().replace("#@end=ok", end))


@pytest.mark.parametrize("ranks", ["1", "4", "two"])
def test_a_world_of_the_wrong_size_is_refused(tmp_path: Path, ranks: str) -> None:
    with pytest.raises(Unreadable, match=f"expected 2 ranks, not {ranks}"):
        parse_text(tmp_path, text_of().replace("#@ranks=2", f"#@ranks={ranks}"))


def test_a_world_of_unknown_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="expected 2 ranks, not unknown"):
        parse_text(tmp_path, text_of().replace("#@ranks=2\n", ""))


def same_or_unreadable(tmp_path: Path, text: str | bytes, whole: Parsed) -> bool:
    """Whether a cut text still gives all rows; anything but that and Unreadable fails."""
    try:
        assert parse_text(tmp_path, text) == whole
    except Unreadable:
        return False
    return True


def test_cut_off_at_any_line(tmp_path: Path) -> None:
    lines, whole = text_of().splitlines(keepends=True), parse(LAUNCHES / SMALL, launch_of())
    for kept in range(len(lines) + 1):
        assert same_or_unreadable(tmp_path, "".join(lines[:kept]), whole) == (kept == len(lines))


def test_cut_off_at_any_byte(tmp_path: Path) -> None:
    raw, whole = text_of().encode(), parse(LAUNCHES / SMALL, launch_of())
    needed = raw.rindex(b"#@end=ok") + len(b"#@end=ok")
    cuts = random.Random(20261121).sample(range(len(raw)), 300) + list(range(needed - 60, len(raw)))
    for cut in cuts:
        assert same_or_unreadable(tmp_path, raw[:cut], whole) == (cut >= needed)


def test_a_hole_never_makes_another_error(tmp_path: Path) -> None:
    draw, text = random.Random(7), text_of()
    for _ in range(200):
        at = draw.randrange(len(text))
        with contextlib.suppress(Unreadable):
            parse_text(tmp_path, text[:at] + text[at + draw.randrange(1, 100) :])


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_empty(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Unreadable, match="empty"):
        parse_text(tmp_path, content)


def test_binary(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="stdout:1: expected text, this is binary"):
        parse_text(tmp_path, b"\x7fELF\x00\x00")


def test_text_of_another_tool(tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        parse_text(
            tmp_path, "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1                       0.27\n"
        )


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-0.5", "1e999", "", "<i>1</i>", "\x1b[1m2"])
def test_no_number_as_a_sample(tmp_path: Path, value: str) -> None:
    with pytest.raises(Unreadable, match=r"stdout:5: expected a (finite )?number"):
        parse_text(tmp_path, synthetic([(8, 0, value)]))


@pytest.mark.parametrize("samples", [["1e308", "1e308", "1e308"], ["1e-320"]])
def test_samples_whose_statistics_are_no_numbers(tmp_path: Path, samples: list[str]) -> None:
    with pytest.raises(Unreadable, match="samples of pingpong at 8 bytes"):
        parse_text(tmp_path, synthetic([(8, 0, value) for value in samples]))


@pytest.mark.parametrize("size", [-8, 8.0, "nan", "9" * 20, "²"])
def test_no_whole_number_as_a_size(tmp_path: Path, size: object) -> None:
    with pytest.raises(Unreadable, match="a whole number"):
        parse_text(tmp_path, synthetic([(8, 0, 1)]).replace("pingpong,,8,", f"pingpong,,{size},"))


def test_a_line_that_is_no_sample(tmp_path: Path) -> None:
    for line in ("mpirun: a warning", "pingpong,,8,0,0,1.0", "pingpong,,8,0,0,1.0,latency_us,more"):
        with pytest.raises(Unreadable, match=r"stdout:4: expected 'benchmark,case"):
            parse_text(tmp_path, synthetic([]).replace(COLUMNS, f"{COLUMNS}\n{line}"))


def test_another_metric(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="latency_us, not 'latency_s'"):
        parse_text(tmp_path, text_of().replace("latency_us", "latency_s"))


@pytest.mark.parametrize("lost", [1, 7])
def test_lost_samples_are_noticed(tmp_path: Path, lost: int) -> None:
    lines = text_of().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("pingpong,,8,"))
    with pytest.raises(Unreadable, match=f"samples at 8 bytes, not {20 - lost}"):
        parse_text(tmp_path, "\n".join(lines[:first] + lines[first + lost :]))


def test_text_before_the_header_is_no_sample(tmp_path: Path) -> None:
    assert parse_text(tmp_path, "a banner, of a library\n" + text_of()) == parse(LAUNCHES / SMALL, launch_of())


def test_an_output_beyond_all_measure_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "stdout").open("wb") as stream:
        stream.truncate(65 * 2**20)
    with pytest.raises(Unreadable, match="at most 67108864 bytes"):
        parse(tmp_path, launch_of())


Series = tuple[str, str, object, dict[int, list[float]], Mapping[str, object]]
"""Metric, case, size, samples by rank, and facts that hold at this point."""


def output(benchmark: str, *series: Series, several: bool = False, reporting: int = 1) -> str:
    """An output as the program writes it: facts of every series before its samples."""
    lines = ["#@ranks=2", f"#@reporting_ranks={reporting}", COLUMNS]
    for metric, case, size, by_rank, facts in series:
        label = [metric] * several + [case.replace("=", ":").replace(" ", ",")] * bool(case)
        label += [] if size is None else [str(size)]
        count = len(next(iter(by_rank.values())))
        for key, value in {"iterations": count, **facts}.items():
            lines.append(f"#@{key}.{'.'.join(label) or 'all'}={value}")
        for rank, samples in by_rank.items():
            for at, value in enumerate(samples):
                lines.append(f"{benchmark},{case},{'' if size is None else size},{rank},{at},{value},{metric}")
    return "\n".join([*lines, "#@verified=yes", "#@end=ok", ""])


def test_a_window_without_its_number_of_messages_has_no_rate(tmp_path: Path) -> None:
    """And not 0 messages a second."""
    for facts in ({}, {"messages_per_run": 0}):
        text = output("unidirectional", ("window_us", "window=64", 8, {0: [1.0]}, facts))
        with pytest.raises(Unreadable, match="expected messages_per_run of unidirectional at 8 bytes"):
            parse_text(tmp_path, text)


def by_case(parsed: Parsed) -> dict[tuple[str, str, int | None], float]:
    found = {(row.metric, row.case, row.msg_size_bytes): row.value for row in parsed.rows}
    assert len(found) == len(parsed.rows)
    return found


def test_windows_carry_what_the_program_says(tmp_path: Path) -> None:
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
    carried = {"bytes_per_run": 640, "messages_per_run": 64}
    text = output(
        "put",
        ("operation_us", "sync=lock", 10, {0: [1.0, 2.0, 6.0]}, {}),
        ("window_us", "sync=lock", 10, {0: [2.0, 2.0, 2.0]}, carried),
        several=True,
    )
    assert by_case(parse_text(tmp_path, text)) == {
        ("latency", "sync=lock", 10): 2.0,
        ("latency_mean", "sync=lock", 10): 3.0,
        ("bandwidth", "sync=lock", 10): 320.0,
        ("bandwidth_mean", "sync=lock", 10): 320.0,
        ("message_rate", "sync=lock", 10): 32e6,
    }


def test_a_collective_is_each_ranks_median(tmp_path: Path) -> None:
    ranks = {0: [1.0, 2.0, 9.0], 1: [4.0, 6.0, 5.0]}
    for size in (8, None):
        text = output("allreduce", ("call_us", "", size, ranks, {}), reporting=2)
        found = by_case(parse_text(tmp_path, text))
        assert found == {("time", "", size): 3.5, ("time_min", "", size): 2.0, ("time_max", "", size): 5.0}


def test_the_skip_is_a_flood_less_a_round_trip(tmp_path: Path) -> None:
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


def test_what_is_hidden_of_the_shorter(tmp_path: Path) -> None:
    text = output(
        "progress",
        ("base_us", "side=sender", 8, {0: [10.0]}, {}),
        ("silent_us", "side=sender", 8, {0: [50.0]}, {"work_us": "40.000"}),
        ("tested_us", "side=sender", 8, {0: [41.0]}, {"work_us": "40.000"}),
        several=True,
    )
    found = by_case(parse_text(tmp_path, text))
    assert found == {("progress", "side=sender", 8): 0.0, ("progress_tested", "side=sender", 8): 0.9}
    base: Series = ("base_us", "", 8, {0: [4.0]}, {})
    for worked, hidden in ((4.0, 1.0), (8.0, 0.0), (9.0, -0.25)):
        text = output("overlap", base, ("worked_us", "", 8, {0: [worked]}, {"work_us": 4}), several=True)
        assert by_case(parse_text(tmp_path, text))["overlap", "", 8] == hidden
    for broken in (output("overlap", base, ("worked_us", "", 8, {0: [9.0]}, {}), several=True),
                   output("overlap", ("worked_us", "", 8, {0: [9.0]}, {"work_us": 4}), several=True)):  # fmt: skip
        with pytest.raises(Unreadable):
            parse_text(tmp_path, broken)


def test_ratios_relate_to_the_plain_case_of_the_launch(tmp_path: Path) -> None:
    text = output(
        "posted",
        *[
            ("latency_us", f"queued={k} tags={tags}", 8, {0: [value]}, {})
            for tags, values in (("equal", (2.0, 3.0)), ("wildcard", (4.0, 10.0)))
            for k, value in zip((0, 16), values, strict=True)
        ],
    )
    found = by_case(parse_text(tmp_path, text))
    ratios = {case: value for (metric, case, _), value in found.items() if metric == "latency_ratio"}
    assert ratios == {
        "queued=0 tags=equal": 1.0,
        "queued=16 tags=equal": 1.5,
        "queued=0 tags=wildcard": 1.0,
        "queued=16 tags=wildcard": 2.5,
    }
    alone = output("reuse", ("latency_us", "reuse=50", 8, {0: [2.0]}, {}))
    assert ("latency_ratio", "reuse=50", 8) not in by_case(parse_text(tmp_path, alone))


def test_the_cases_of_launch_and_program_are_joined(tmp_path: Path) -> None:
    launch = launch_of().model_copy(update={"case": {"rails": "striped"}})
    text = output("unidirectional", ("window_us", "window=64", 8, {0: [1.0]}, {"messages_per_run": 64}))
    assert {row.case for row in parse_text(tmp_path, text, launch).rows} == {"rails=striped window=64"}


def test_what_the_program_could_not_do_is_a_skip(tmp_path: Path) -> None:
    text = output("unexpected", ("latency_us", "queued=0 tags=equal", 8, {0: [1.0]}, {}))
    launch = launch_of().model_copy(update={"benchmark": "unexpected"})
    (skip,) = parse_text(tmp_path, text + "#@gap.queued:64,tags:equal.8=no <b>memory</b> = none\n", launch).skips
    assert (skip.benchmark, skip.case, skip.msg_size_bytes) == ("unexpected", "queued=64 tags=equal", 8)
    assert skip.reason == "no <b>memory</b> = none"
    with pytest.raises(Unreadable, match="a whole number"):
        parse_text(tmp_path, text + "#@gap.queued:64.x=no\n", launch)


def test_a_rank_that_lost_a_sample_is_noticed(tmp_path: Path) -> None:
    text = output("bcast", ("call_us", "", 8, {0: [1.0, 2.0], 1: [3.0, 4.0]}, {}), reporting=2)
    assert by_case(parse_text(tmp_path, text))
    with pytest.raises(Unreadable, match="4 samples at 8 bytes, not 3"):
        parse_text(tmp_path, text.replace("bcast,,8,1,1,4.0,call_us\n", ""))
