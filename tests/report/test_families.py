# SPDX-License-Identifier: Apache-2.0
"""The project's own benchmarks by family, and LogGP, from synthetic launches with known parameters."""

from fabricbench.metrics import METRICS
from fabricbench.parsers.tools.micro.description import MEASURED
from fabricbench.report.facets import Panel, lanes, others, panels
from fabricbench.report.families import compared, families, pictures, sections
from fabricbench.report.loggp import loggp_views
from fabricbench.report.style import lane_styles
from verdict.synthetic_table import Rows, lane_rows, table_of

SPREAD = (0.98, 0.99, 1.0, 1.0, 1.01, 1.02)
SIZES = (0, *(2**k for k in range(21)))


def rows(lane: str, benchmark: str, metric: str, value: float, size: int, case: str = "") -> Rows:
    values = [value * s for s in SPREAD]
    return lane_rows(lane, values, tool="micro", benchmark=benchmark, metric=metric, msg_size_bytes=size, case=case)


def panels_and_sections(*parts: Rows) -> tuple[list[Panel], dict[str, list[str]]]:
    """The panels of a table, and the captions of each family's figures."""
    table = table_of(*parts)
    result = panels(table, 0.95)
    views = families(result, lane_styles(lanes(table)))
    return result, {view.key: [figure.caption for figure in view.group.figures] for view in views}


def test_every_own_benchmark_has_a_picture() -> None:
    names = {name for name, _ in pictures()}
    elsewhere = {"pingpong", "barrier", "pair_latency", "pair_bandwidth"}
    assert names | elsewhere == set(MEASURED)
    assert {section.key for section in sections()} == {one.section.key for one in MEASURED.values() if one.section}


def test_benchmarks_of_one_section_agree_on_it() -> None:
    own = {one.section for one in MEASURED.values() if one.section}
    assert sorted(own, key=lambda section: section.place) == sections()
    assert all(section.title and section.note for section in own)
    assert len({section.place for section in own}) == len(own)


def test_pictures_show_metrics_and_cases_that_the_benchmark_has() -> None:
    for name, picture in pictures():
        benchmark = MEASURED[name]
        keys = {part.key for part in (benchmark.amount, benchmark.choice) if part}
        assert picture.metric in {metric.name for metric in benchmark.metrics} & METRICS.keys()
        assert {picture.over, picture.only.partition("=")[0]} - {""} <= keys
        assert bool(picture.over) == bool(picture.sizes)


def test_a_family_is_drawn_over_message_size() -> None:
    result, captions = panels_and_sections(
        *[rows(lane, "unidirectional", "bandwidth", 100.0, size, "window=64") for lane in ("a@tcp", "b@tcp")
          for size in (8, 64)],
    )  # fmt: skip
    assert captions == {"windows": ["Bandwidth in MB/s: unidirectional window=64, 2 ranks on 1 node"]}
    assert others(result) == []


def test_a_queue_is_drawn_over_its_length() -> None:
    lengths = (0, 16, 1024)
    table = table_of(
        *[rows("a@tcp", "posted", "latency_ratio", 1.0 + k / 100, size, f"queued={k} tags=equal")
          for k in lengths for size in (8, 64)],
    )  # fmt: skip
    (view,) = families(panels(table, 0.95), lane_styles(lanes(table)))
    over_size, over_length = view.group.figures
    assert over_size.caption == "Latency ratio in ×: posted queued=1024 tags=equal, 2 ranks on 1 node"
    assert [label for label, _ in over_size.numbers.rows] == ["8\u202fB", "64\u202fB"]
    assert "posted tags=equal 8\u202fB" in over_length.caption
    assert (over_length.numbers.axis, [label for label, _ in over_length.numbers.rows]) == (
        "queued",
        ["0", "16", "1\u202f024"],
    )
    assert [cells[0].estimate for _, cells in over_length.numbers.rows] == ["1.000", "1.160", "11.24"]


def test_connections_over_libfabric_are_drawn_beside_those_over_mpi() -> None:
    numbers = (1, 4, 256)
    table = table_of(
        *[rows(lane, "multiconn", "normalised_latency", 10.0 + k, 512, f"connections={k}")
          for lane in ("mpich@tcp", "libfabric@tcp") for k in numbers],
    )  # fmt: skip
    (view,) = families(panels(table, 0.95), lane_styles(lanes(table)))
    (figure,) = view.group.figures
    assert (figure.numbers.axis, [label for label, _ in figure.numbers.rows]) == ("connections", ["1", "4", "256"])
    assert [len(cells) for _, cells in figure.numbers.rows] == [2, 2, 2]


def test_a_negative_share_is_drawn() -> None:
    table = table_of(*[rows("a@tcp", "overlap", "overlap", v, s, "side=sender") for s, v in ((8, -0.5), (64, 0.9))])
    (view,) = families(panels(table, 0.95), lane_styles(lanes(table)))
    assert view.group.figures[0].svg.startswith("<svg")


def test_stacks_are_compared_by_main_metrics_over_size() -> None:
    result, _ = panels_and_sections(
        *[rows("a@tcp", "put", metric, 5.0, 8, "sync=lock") for metric in ("latency", "bandwidth")],
        rows("a@tcp", "multiconn", "normalised_latency", 5.0, 1, "connections=4"),
    )
    assert [(panel.facet.benchmark, panel.metric) for panel in compared(result)] == [("put", "latency")]


def test_hostile_cases_are_data() -> None:
    _, captions = panels_and_sections(
        rows("a@tcp", "posted", "latency_ratio", 1.0, 8, "queued=<b> tags"),
        rows("a@tcp", "posted", "latency_ratio", 1.0, 8, "queued=1024"),
    )
    assert set(captions) == {"queues"}


def gap(size: int) -> float:
    return 3 + size / 1000 if size <= 8192 else 40 + size / 2000


def test_loggp_with_intervals_over_blocks() -> None:
    table = table_of(
        *[rows("a@tcp", "plogp", "round_trip", 30 + size / 1000, size) for size in SIZES],
        *[rows("a@tcp", "plogp", "send_overhead", 2.0, size) for size in SIZES],
        *[rows("a@tcp", "plogp", "receive_overhead", 3.0, size) for size in SIZES],
        *[rows("a@tcp", "plogp", "gap", gap(size), size) for size in SIZES],
    )
    (view,) = loggp_views(table, 0.95)
    assert view.lane == "a@tcp"
    assert [number.estimate for number in view.numbers] == ["10.00", "2.000", "3.000", "3.000", "12.00"]
    assert view.numbers[0].interval == "[9.800, 10.20]"
    assert [(s.sizes, s.per_byte, s.interval) for s in view.segments] == [
        ("0\u202fB to 8\u202fKiB", "1.000", "[0.9800, 1.020]"),
        ("16\u202fKiB to 1\u202fMiB", "0.5000", "[0.4900, 0.5100]"),
    ]


def test_without_plogp_there_is_no_loggp() -> None:
    assert loggp_views(table_of(rows("a@tcp", "pingpong", "latency", 1.0, 8)), 0.95) == []
