# SPDX-License-Identifier: Apache-2.0
"""``attribute`` and ``compare --why`` on synthetic attributions, on a campaign of one launch, and on bad input."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fabricbench.cli.app import app
from fabricbench.cli.commands import attribute as command
from fabricbench.errors import BadInput
from parsers.test_tau_export import campaign_with
from verdict.test_attribution import SECONDS, curves, found, run

LANES = ("mpich@tcp", "mpich@shm")


@pytest.fixture
def attributed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lanes with known attributions in place of those of a campaign."""
    half = [seconds / 2 for seconds in SECONDS]
    result = found(
        [run(LANES[0]), run(LANES[1], timed=half, profiled=half)],
        curves(LANES[0], 20.0, 10.0),
        curves(LANES[1], 10.0, 10.0),
    )
    monkeypatch.setattr(command, "attributions_of", lambda path, recompute=False: result)


def stdout(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


def error(*words: str) -> str:
    exception = CliRunner().invoke(app, list(words)).exception
    assert isinstance(exception, BadInput)
    return str(exception)


@pytest.mark.usefixtures("attributed")
def test_text_has_a_table_and_a_sentence_for_each_application() -> None:
    text = stdout("attribute", "campaign")
    assert "closing_error" in text
    assert "cg.A on mpich@tcp, 2 ranks: 30 % of the run is MPI: waiting 20, rest" in text


@pytest.mark.usefixtures("attributed")
def test_json_has_the_quality_of_each_attribution() -> None:
    rows = json.loads(stdout("attribute", "campaign", "-f", "json"))
    assert [row["lane"] for row in rows] == sorted(LANES)
    for row in rows:
        assert row["closing_error"] == pytest.approx(0.0)
        assert row["dilation"] == pytest.approx(1.0)
        assert 0 < row["unexplained"] < 0.1
        assert row["label"] == "compute"


@pytest.mark.usefixtures("attributed")
def test_other_tables() -> None:
    assert "MPI_Allreduce" in stdout("attribute", "campaign", "--calls", "-f", "csv")
    assert "computation_s" in stdout("attribute", "campaign", "--ranks", "-f", "csv")
    assert "medians over 6 blocks" in stdout("attribute", "campaign", "--explain", "cg.A/mpich@shm")
    (row,) = json.loads(stdout("attribute", "campaign", "--on", "mpich@shm", "-f", "json"))
    assert row["profiled_on"] == "mpich@tcp"
    assert row["backtests"] == 1


@pytest.mark.usefixtures("attributed")
def test_why_two_lanes_differ() -> None:
    text = stdout("compare", "campaign", *LANES, "--why", "cg.A")
    assert text.startswith("cg.A, 2 ranks on 1 node(s), own: mpich@tcp minus mpich@shm, 6 blocks")
    for part in ("dT ", "dU ", "dLat ", "dBw ", "dSync ", "dRest ", "explained"):
        assert part in text


@pytest.mark.usefixtures("attributed")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("attribute", "campaign", "--calls", "--ranks"), "several tables; expected one of --calls, --ranks"),
        (("attribute", "campaign", "--on", "mpich@smh"), "no curves of 'mpich@smh'; expected mpich@shm"),
        (("attribute", "campaign", "--explain", "cg.B/mpich@shm"), "unknown cell 'cg.B/mpich@shm'; expected cg.A/"),
        (("compare", "campaign", *LANES, "--why", "ft.A"), "no profile of 'ft.A'; expected cg.A"),
        (("compare", "campaign", "mpich@tcp", "impi@tcp", "--why", "cg.A"), "no profile of cg.A on 'impi@tcp'"),
    ],
)
def test_unknown_names(words: tuple[str, ...], message: str) -> None:
    assert message in error(*words)


def test_a_profile_without_timed_launches_is_refused_by_name(tmp_path: Path) -> None:
    text = stdout("attribute", str(campaign_with(tmp_path / "campaign", "profiled")))
    assert "on mpich@tcp, 2 ranks: not attributed: unpaired: no timed launch of the same blocks" in text


def test_a_campaign_without_profiles(tmp_path: Path) -> None:
    campaign = str(campaign_with(tmp_path / "campaign", "timed"))
    assert "no launch was profiled; expected launches of mode profiled" in error("attribute", campaign)
    assert "no campaign here" in error("attribute", str(tmp_path / "none"))
