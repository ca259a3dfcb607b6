# SPDX-License-Identifier: Apache-2.0
"""The sections of applications: rates, scaling, communication and activities of synthetic launches."""

import polars as pl

from fabricbench.report.activities import shares
from fabricbench.report.applications import Application, applications
from fabricbench.report.codes import codes_view
from fabricbench.report.facets import lanes, panels, unsized
from fabricbench.report.style import lane_styles
from fabricbench.verdict.series import all_series
from verdict.synthetic_table import Rows, lane_rows, table_of


def sections(table: pl.DataFrame) -> list[Application]:
    return applications(panels(table, 0.95), lane_styles(lanes(table)), all_series(table), 0.95)


def rows(lane: str, ranks: int, mops: float, seconds: float, communication: float, **columns: object) -> Rows:
    common = {"tool": "npb", "benchmark": "cg.A", "msg_size_bytes": None, "ranks": ranks, **columns}
    spread = [0.98, 0.99, 1.0, 1.0, 1.01, 1.02]
    return [
        *lane_rows(lane, [mops * s for s in spread], metric="mops", **common),
        *lane_rows(lane, [seconds] * 6, metric="run_time", **common),
        *lane_rows(lane, [communication] * 6, metric="communication_time", **common),
    ]


TABLE = table_of(
    rows("mpich@shm", 1, 1000.0, 8.0, 0.0),
    rows("mpich@shm", 2, 1500.0, 4.0, 1.0),
    rows("mpich@tcp", 2, 1200.0, 5.0, 2.5, case="code=own"),
    rows("mpich@tcp", 2, 600.0, 10.0, 1.0, case="code=nasa"),
    lane_rows("mpich@tcp", [3.0] * 6, tool="imb", benchmark="barrier", metric="time", msg_size_bytes=None),
)


def test_rates_efficiency_and_share_of_communication() -> None:
    (section,) = sections(TABLE)
    views = section.runs
    assert (section.key, views[0].unit, views[0].split) == ("npb", "Mop/s", None)
    titles = ["CG.A", "CG.A (NASA’s program, code=nasa)", "CG.A (own kernel, code=own)"]
    assert [view.title for view in views] == titles
    table = dict(views[0].rows) | dict(views[2].rows)
    assert [(c.scale, c.rate.n, c.efficiency.estimate, c.communication) for c in table["mpich@shm"]] == [
        ("1x1", 6, "–", "0.0%"),
        ("1x2", 6, "75.0\u202f%", "25.0%"),
    ]
    assert [(c.efficiency.estimate, c.communication) for c in table["mpich@tcp"]] == [("–", "50.0%")]
    assert table["mpich@shm"][1].rate.estimate == "1\u202f500"
    assert table["mpich@shm"][1].rate.interval
    for view in views:
        assert view.svg.startswith("<svg")
        assert "mpich@tcp, 1x2" in view.svg or view is views[0]
    assert views[0].anchor != views[1].anchor


def test_own_kernels_over_nasas_programs_paired_by_block() -> None:
    (row,) = codes_view(all_series(TABLE), 0.05).ratios
    assert (row.problem, row.lane, row.ranks) == ("CG.A", "mpich@tcp", 2)
    assert (row.rate.estimate, row.rate.n, row.communication.estimate) == ("2.000", 6, "2.500")
    assert row.rate.interval
    assert codes_view(all_series(TABLE), 0.05).install == ""


def test_without_nasas_programs_the_report_says_how_to_install_them() -> None:
    own_only = TABLE.filter(TABLE["case"] != "code=nasa")
    view = codes_view(all_series(own_only), 0.05)
    assert (view.ratios, view.install) == ((), "fabricbench setup --source NPB3.4.3.tar.gz")


def test_cells_of_both_codes_on_other_lanes_or_ranks_are_not_paired() -> None:
    table = table_of(
        rows("mpich@tcp", 2, 1200.0, 5.0, 2.5, case="code=own"),
        rows("mpich@shm", 2, 600.0, 10.0, 1.0, case="code=nasa"),
        rows("mpich@tcp", 4, 600.0, 10.0, 1.0, case="code=nasa"),
        rows("mpich@tcp", 2, 600.0, 10.0, 1.0, case="code=nasa port=eth1"),
    )
    assert codes_view(all_series(table), 0.05).ratios == ()


def test_applications_are_only_in_their_own_section() -> None:
    assert [panel.facet.benchmark for panel in unsized(panels(TABLE, 0.95))] == ["barrier"]


def test_names_are_escaped() -> None:
    table = table_of(rows("<b>&@tcp", 2, 1.0, 1.0, 0.5))
    (section,) = sections(table)
    assert "<b>" not in section.runs[0].svg


def gromacs(lane: str, ranks: int, **seconds: float) -> Rows:
    common = {"tool": "gromacs", "benchmark": "lzm", "msg_size_bytes": None, "ranks": ranks}
    activities = [
        row
        for name, value in seconds.items()
        for row in lane_rows(
            lane, [value] * 6, metric="activity_time", case=f"activity={name.replace('_', '-')}", **common
        )
    ]
    rates = lane_rows(lane, [20.0 * ranks] * 6, metric="ns_per_day", **common)
    return [*rates, *lane_rows(lane, [0.04] * 6, metric="load_imbalance", **common), *activities]


def test_shares_of_activities_sum_to_one() -> None:
    table = table_of(
        gromacs("openmpi@shm", 1, total=10.0, force=6.0, pme_mesh=3.0, update=0.5),
        gromacs("openmpi@tcp", 2, total=10.0, force=3.0, pme_mesh=4.0, pme_3d_fft_comm=1.5, comm_coord=1.0),
    )
    (section,) = sections(table)
    (run,) = section.runs
    assert (section.title, run.title, run.unit, run.balanced) == ("GROMACS", "lzm", "ns/day", True)
    assert run.split is not None
    assert run.split.columns == (
        *("forces", "PME", "PME messages", "halo: messages and waiting", "update and constraints", "other"),
    )
    assert run.split.rows == (
        ("openmpi@shm", "1x1", ("60.0%", "30.0%", "0.0%", "0.0%", "5.0%", "5.0%")),
        ("openmpi@tcp", "1x2", ("30.0%", "25.0%", "15.0%", "10.0%", "0.0%", "20.0%")),
    )
    assert unsized(panels(table, 0.95)) == []


def test_without_a_total_there_are_no_shares() -> None:
    assert shares({"force": 1.0}) == {}
