# SPDX-License-Identifier: Apache-2.0
"""The dry run and the doctor on a site of a thousand nodes, with a real Slurm that is configured for them."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fabricbench.doctor.site import site_problems
from fabricbench.slurm import state as slurm_state
from support import large_site, large_slurm
from support.fake_site import REPOSITORY
from support.long_form import is_long
from support.processes import clean_environment, marked, program, wait_until

LARGE_SECONDS = 600
STACKS = large_site.STACKS if is_long() else large_site.STACKS[:1]
LANES = [word for stack in STACKS for fabric in ("gige", "ib") for word in ("--lane", f"{stack}@{fabric}")]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    """The configuration of a Slurm of a thousand nodes; None if this machine cannot run one."""
    if large_slurm.impossible():
        yield None
        return
    with large_slurm.controller(tmp_path_factory.mktemp("slurm")) as configuration:
        yield configuration


@pytest.fixture
def configured(slurm: Path | None) -> Path:
    """The configuration of the Slurm, for tests that need one."""
    if slurm is None:
        pytest.skip(large_slurm.impossible())
    return slurm


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, slurm: Path | None) -> Mapping[str, Any]:
    """The output of a dry run of all checks on a thousand nodes of 64 cores; in the short form, with one stack."""
    root = tmp_path_factory.mktemp("large")
    site = large_site.make(root, slurm=slurm)
    argv = [sys.executable, "-m", "fabricbench.cli", "run", str(root / "campaign"), "--system", "large"]
    result = subprocess.run(
        [*argv, *LANES, "--tier", "acceptance", "--dry-run", "--format", "json"],
        env=site.environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=LARGE_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not (root / "campaign").exists()
    forecast: Mapping[str, Any] = json.loads(result.stdout)
    return forecast


def test_a_thousand_nodes(large: Mapping[str, Any]) -> None:
    (allocation,) = large["allocations"]
    assert (allocation["access"], allocation["nodes"]) == ("--partition=all", large_site.NODES)
    assert [row["blocks"] for row in large["totals"]] == [8, 15, 30]
    last = large["totals"][-1]
    assert last["node_hours_at_most"] == pytest.approx(large_site.NODES * last["hours_at_most"], rel=1e-3)
    assert {f"{row['stack']}@{row['fabric']}" for row in large["launches"] if row["once"]} == {
        f"{stack}@{fabric}" for stack in STACKS for fabric in ("gige", "ib")
    }
    assert all(row["ranks"] <= large_site.CORES * row["nodes"] for row in large["launches"])
    scales = {(row["nodes"], row["ranks"]) for row in large["launches"] if row["check"] == "MicroCollective"}
    assert {(512, 512), (512, 512 * 64), (1000, 1000), (1000, 64_000)} <= scales


def test_ranks_of_launches_on_a_thousand_nodes_are_limited(large: Mapping[str, Any]) -> None:
    most = {row["check"]: 0 for row in large["launches"]}
    for row in large["launches"]:
        most[row["check"]] = max(most[row["check"]], row["ranks"])
    assert most["PairLatency"] == large_site.NODES
    assert most["NPB"] == 4096
    assert most["MicroHotspot"] == 1024
    reasons = {skip["reason"] for skip in large["skips"]}
    assert "is.A runs on 1 to 1024 ranks, not on 2048" in reasons
    assert not any("ReFrame" in reason for reason in reasons)


def problems(monkeypatch: pytest.MonkeyPatch, root: Path, **how: Any) -> list[str]:
    """The problems of a large site that are broken or not checked, without the file's name."""
    for name, value in large_site.make(root, **how).environment.items():
        monkeypatch.setenv(name, value)
    reported = [one for one in site_problems("large") if one.state != "warning" and " port " not in one.text]
    return [one.text.partition("settings.py: ")[2] for one in reported]


def test_slurm_provides_what_the_site_needs(configured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems(monkeypatch, tmp_path, slurm=configured) == []
    nodes = slurm_state.nodes()
    assert Counter(node.partition for node in nodes) == {"all": 1000, "half": 500}
    assert all(node.up for node in nodes)


@pytest.mark.parametrize(
    ("nodes", "partition", "message"),
    [
        (1000, "al", "no partition 'al'; expected all, half"),
        (1000, "half", "500 of 500 nodes up, 1000 requested"),
        (1001, "all", "1000 of 1000 nodes up, 1001 requested"),
    ],
)
def test_slurm_lacks_what_the_site_needs(
    configured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: int, partition: str, message: str
) -> None:
    reported = problems(monkeypatch, tmp_path, slurm=configured, nodes=nodes, partition=partition)
    assert reported == [f"fabric {fabric}: {message}" for fabric in ("gige", "ib")]


def test_the_dry_run_reports_no_problem(large: Mapping[str, Any], configured: Path) -> None:
    reported = [
        problem for problem in large["site"] if problem["state"] != "warning" and " port " not in problem["text"]
    ]
    assert reported == []


def test_a_dry_run_reports_what_run_refuses(configured: Path, tmp_path: Path) -> None:
    site = large_site.make(tmp_path, partition="half", slurm=configured)
    words = ("run", str(tmp_path / "campaign"), "--system", "large", "--lane", "mpich@gige", "--check", "MicroPingpong")
    result = site.inside(*words, "--dry-run")
    assert result.returncode == 2, result.stdout + result.stderr
    assert "MicroPingpong" in result.stdout
    assert "fabric gige: 500 of 500 nodes up, 1000 requested" in result.stderr
    assert result.stderr.count("\n") == 1


def test_without_slurm_a_run_is_refused(tmp_path: Path) -> None:
    site = large_site.make(tmp_path)
    result = site.inside("run", str(tmp_path / "campaign"), "--system", "large", "--lane", "mpich@gige")
    assert result.returncode == 2
    assert "its fabrics need Slurm: SLURM_CONF names " in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "campaign").exists()


def test_the_controller_ends_with_its_parent(tmp_path: Path) -> None:
    if why := large_slurm.impossible():
        pytest.skip(why)
    code = """if True:
        import pathlib, sys, time
        from support.large_slurm import controller
        with controller(pathlib.Path(sys.argv[1])) as configuration:
            print(configuration, flush=True)
            time.sleep(600)
    """
    argv = [sys.executable, "-c", code, str(tmp_path)]
    environment = {**clean_environment(), "PYTHONPATH": str(REPOSITORY / "tests")}
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        mark = f"SLURM_CONF={process.stdout.readline().strip()}"
        running = {program(pid).partition("-")[0] for pid in marked(mark)}  # Debian's slurmctld-wlm
        process.kill()
    assert {"munged", "slurmctld"} <= running
    wait_until(lambda: not marked(mark), "the end of the controller")
