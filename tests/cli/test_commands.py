# SPDX-License-Identifier: Apache-2.0
"""Commands on campaigns that are finished, broken, or were started with other options."""

import json
import os
import shutil
from pathlib import Path

import pytest

from support import fake_site
from support.fake_site import REQUIREMENTS, FakeSite
from support.running import CHOICE


@pytest.fixture(scope="module")
def original_site(tmp_path_factory: pytest.TempPathFactory) -> FakeSite:
    """A site with a campaign of one block that ReFrame ran without ``fabricbench run``."""
    site = fake_site.make(tmp_path_factory.mktemp("made"))
    campaign = site.root / "campaign"
    result = site.reframe(
        "-c", "reframe_checks", "-n", "MicroPingpong", "-p", "^one$", "-r", FABRICBENCH_CAMPAIGN=str(campaign)
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return site


@pytest.fixture
def finished(original_site: FakeSite, tmp_path: Path) -> tuple[FakeSite, Path]:
    """The site, which tests do not change, and a copy of the campaign, which a test may change."""
    shutil.copytree(original_site.root / "campaign", tmp_path / "campaign")
    return original_site, tmp_path / "campaign"


def refused(site: FakeSite, *arguments: str) -> str:
    result = site.inside(*arguments)
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_variables_of_checks_are_facts_of_the_campaign(original_site: FakeSite, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    words = ("run", str(campaign), *CHOICE, "--lane", "one@shm", "--budget", "0")
    result = original_site.inside(*words, "--set", "MicroPingpong.binding=none", "--set", "limit_seconds=50")
    assert result.returncode == 0, result.stdout + result.stderr
    launches = [json.loads(file.read_text()) for file in campaign.glob("launches/*/*/*/*/Micro*/launch.json")]
    assert [(launch["case"], launch["limit_seconds"]) for launch in launches] == [({"binding": "none"}, 50.0)] * 2
    other = refused(original_site, *words, "--set", "limit_seconds=40")
    assert "was started with variables ('MicroPingpong.binding=none', 'limit_seconds=50'), not" in other


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MicroPingpong.prt=eth1", "--set MicroPingpong.prt=eth1: MicroPingpong has no variable 'prt'"),
        ("prt=eth1", "--set prt=eth1: no check has a variable 'prt'"),
        ("MicroPngpong.port=eth1", "no check 'MicroPngpong' is chosen; expected MicroPingpong"),
        ("port", "--set: 'port'; expected [CHECK.]VARIABLE=VALUE, without blanks"),
        ("port=a b", "--set: 'port=a b'; expected"),
    ],
)
def test_an_unknown_variable_of_checks(original_site: FakeSite, tmp_path: Path, text: str, message: str) -> None:
    words = ("run", str(tmp_path / "campaign"), *CHOICE, "--set", text)
    assert message in refused(original_site, *words)
    if text == "prt=eth1":
        assert message in refused(original_site, *words, "--dry-run")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tool: micro", "tool: mirco", "unknown tool 'mirco'; expected micro"),
        ("fabric: shm", "fabric: smh", "unknown fabric 'smh'; expected shm"),
        ("benchmark: pingpong", "benchmark: pingpnog", "unknown benchmark 'pingpnog'; expected pingpong"),
        ("fabric: shm", "stack: onn", "unknown stack 'onn'; expected one"),
    ],
)
def test_a_misspelt_name_in_given_requirements(
    finished: tuple[FakeSite, Path], old: str, new: str, message: str
) -> None:
    site, campaign = finished
    file = campaign.with_name("mine.yaml")
    file.write_text(REQUIREMENTS)
    assert site.inside("judge", str(campaign), "--requirements", str(file)).returncode == 3
    file.write_text(REQUIREMENTS.replace(old, new))
    assert message in refused(site, "judge", str(campaign), "--requirements", str(file))
    assert f"{file}:" in refused(site, "report", str(campaign), "--requirements", str(file))


def test_a_misspelt_benchmark_in_the_sites_requirements(site: FakeSite) -> None:
    file = site.settings.with_name("requirements.yaml")
    file.write_text(REQUIREMENTS.replace("pingpong", "pingpnog"))
    for arguments in (("doctor", "--site", "--system", "fake"), ("run", str(site.root / "campaign"), *CHOICE)):
        assert "unknown benchmark 'pingpnog'; expected pingpong" in refused(site, *arguments)


def test_a_fifo_in_place_of_an_output_does_not_block(finished: tuple[FakeSite, Path]) -> None:
    site, campaign = finished
    output = next(campaign.glob("launches/*/fake/shm/one/MicroPingpong*/stdout"))
    output.unlink()
    os.mkfifo(output)
    table = site.inside("table", str(campaign), "-f", "csv")
    assert table.returncode == 0, table.stderr
    assert "unreadable" in table.stdout


def test_a_report_elsewhere_links_to_the_launches(finished: tuple[FakeSite, Path]) -> None:
    site, campaign = finished
    away = campaign.with_name("away")
    away.mkdir()
    result = site.fabricbench("report", str(campaign), "-o", str(away / "report.html"), LC_ALL="C", PYTHONUTF8="0")
    assert result.returncode == 0, result.stderr
    page = (away / "report.html").read_text(encoding="utf-8")
    launch = next(campaign.glob("launches/b000.s00/fake/shm/one/MicroPingpong*"))
    assert f'href="../campaign/launches/b000.s00/fake/shm/one/{launch.name}"' in page
    assert [path.name for path in away.iterdir()] == ["report.html"]
    assert "cannot be written: " in refused(site, "report", str(campaign), "-o", str(away / "none/r.html"))
    assert "None" not in refused(site, "table", str(campaign), "-f", "parquet", "-o", str(away / "none/t.parquet"))


def test_other_options_than_those_of_the_campaign_are_rejected(finished: tuple[FakeSite, Path]) -> None:
    site, campaign = finished
    again = ("run", str(campaign), *CHOICE)
    assert "tier 'single', not 'standard'" in refused(site, *again, "--tier", "standard")
    assert "--seed 99 differs from the campaign's seed 0" in refused(site, *again, "--seed", "99")


def test_a_path_with_blanks_is_refused_before_anything_is_made(site: FakeSite) -> None:
    assert "blanks in a campaign's path" in refused(site, "run", str(site.root / "a b"), *CHOICE)
    assert not (site.root / "a b").exists()


def test_a_campaign_with_skips_only_is_an_error(site: FakeSite) -> None:
    choice = ("--system", "fake", "--check", "ImbBarrier", "--budget", "0")
    result = site.inside("run", str(site.root / "campaign"), *choice)
    assert result.returncode == 2, result.stdout + result.stderr
    reason = "one@shm imb: IMB-MPI1 is not installed for the stack one"
    assert f"nothing was measured, everything was skipped: {reason}" in result.stderr


def add_skip(campaign: Path) -> None:
    """Adds a skip for a stack "two" that is not set up, with the check of the stack "one"."""
    (launch,) = campaign.glob("launches/b000.s00/fake/shm/one/MicroPingpong*/launch.json")
    facts = json.loads(launch.read_text())
    skip = {key: facts[key] for key in ("id", "block", "system", "fabric", "tool", "benchmark", "ranks", "nodes")}
    rows = [row | {"case": ""} for row in facts["expected"]]
    folder = launch.parents[2] / "two" / launch.parent.name
    folder.mkdir(parents=True)
    text = json.dumps(skip | {"stack": "two", "expected": rows, "reason": "no two here", "hint": "set it up"})
    (folder / "skipped.json").write_text(text)


def test_a_skip_is_a_cell_of_the_table_the_explanation_and_the_report(finished: tuple[FakeSite, Path]) -> None:
    site, campaign = finished
    for launch in campaign.glob("launches/b000.s00/fake/shm/one/MicroPingpong*/launch.json"):
        if json.loads(launch.read_text())["messages"] == "large":
            shutil.rmtree(launch.parent)
    add_skip(campaign)
    reason = "not measured: no two here; set it up"
    judgement = site.inside("judge", str(campaign))
    (line,) = (line for line in judgement.stdout.splitlines() if "one-latency/two@shm/8" in line)
    assert line.startswith("INCONCLUSIVE")
    assert reason in line
    explained = site.inside("judge", str(campaign), "--explain", "one-latency/two@shm/8")
    assert f"INCONCLUSIVE: {reason}" in explained.stdout
    assert site.inside("report", str(campaign)).returncode == 0
    assert reason in (campaign / "report.html").read_text()


def test_skipped_cells_are_counted_by_judge_and_in_the_report(finished: tuple[FakeSite, Path]) -> None:
    site, campaign = finished
    for launch in campaign.glob("launches/b000.s00/fake/shm/one/MicroPingpong*/launch.json"):
        if json.loads(launch.read_text())["messages"] == "large":
            shutil.rmtree(launch.parent)
    add_skip(campaign)
    measured = REQUIREMENTS.replace("    at_most", "    where: measured\n    at_most")
    (campaign / "requirements.yaml").write_text(measured)
    judgement = site.inside("judge", str(campaign)).stdout
    assert "one-latency/two" not in judgement
    assert "1 cell not measured and skipped" in judgement
    assert "skipped: 1 cell of one-latency: not measured: no two here; set it up" in judgement
    assert site.inside("report", str(campaign)).returncode == 0
    page = (campaign / "report.html").read_text()
    assert "1 cell not measured and skipped" in page
    assert "no two here; set it up: 1 cell (one-latency/two@shm/8)" in page


def test_other_requirements_are_named_in_the_output(finished: tuple[FakeSite, Path]) -> None:
    site, campaign = finished
    file = campaign.with_name("mine.yaml")
    file.write_text(REQUIREMENTS)
    words = f"judged by {file} instead of the campaign's own requirements.yaml"
    assert words not in site.inside("judge", str(campaign)).stdout
    command = ("judge", str(campaign), "--requirements", str(file))
    assert words in site.inside(*command).stdout
    assert words in site.inside(*command, "--explain", "one-latency/one@shm/8").stdout
    assert site.inside("report", str(campaign), "--requirements", str(file)).returncode == 0
    assert f"by {file}, not by the campaign" in (campaign / "report.html").read_text()
