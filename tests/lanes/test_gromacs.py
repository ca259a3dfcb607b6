# SPDX-License-Identifier: Apache-2.0
"""Tests GROMACS on a box of water: attested and verified launches, rejected systems, skipped launches."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.inputs.cache import file_digest
from fabricbench.launch.record import Campaign
from support.command import reframe_inside
from support.fake_site import REPOSITORY
from support.processes import clean_environment


def reframe(campaign: Path, given: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **clean_environment(),
        "RFM_CONFIG_FILES": str(REPOSITORY / "site/local/settings.py"),
        "RFM_SYSTEM": "local",
        "FABRICBENCH_GROMACS_INPUTS": str(given),
        "FABRICBENCH_CAMPAIGN": str(campaign),
        **extra,
    }
    return reframe_inside("-c", "reframe_checks/gromacs.py", *arguments, "-r", environment=environment)


def changed_water(water: Path, directory: Path, atom_moved_nm: float = 0.0, **settings: str) -> Path:
    """Creates the box with a moved atom or other settings, and the reference of the unchanged box."""
    shutil.copytree(water, directory)
    lines = (directory / "conf.gro").read_text().splitlines(keepends=True)
    x = float(lines[2][20:28]) + atom_moved_nm
    lines[2] = f"{lines[2][:20]}{x:8.3f}{lines[2][28:]}"
    (directory / "conf.gro").write_text("".join(lines))
    text = (directory / "production.mdp").read_text()
    text += "continuation = yes\n"
    for name, value in settings.items():
        text = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith(name)) + f"{name} = {value}\n"
    (directory / "production.mdp").write_text(text)
    words = ["gmx", "-quiet", "-nobackup", "grompp", "-f", "production.mdp", "-c", "conf.gro", "-p", "topol.top"]
    process = subprocess.run(
        [*words, "-o", "water.tpr", "-maxwarn", "5"], cwd=directory, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr[-2000:]
    reference = json.loads((directory / "water.reference.json").read_text())
    reference["sha256"] = file_digest(directory / "water.tpr")
    (directory / "water.reference.json").write_text(json.dumps(reference))
    return directory


def reasons(campaign: Campaign) -> set[str]:
    return {record.reason for record in campaign.records if record.launch and record.launch.mode != "wireup"}


ENERGIES = ("-n", "^GromacsEnergies%md_system=water%at=1x1", "-p", "^openmpi$", "--system", "local:shm")


def test_timed_and_checked_runs_are_attested_on_every_lane_with_gromacs(water: Path, tmp_path: Path) -> None:
    process = reframe(tmp_path / "c", water, "-n", "^Gromacs.*md_system=water", "-S", "Gromacs.steps=200")
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr
    result = read_campaign(tmp_path / "c")
    launches = [record for record in result.records if record.launch and record.launch.mode != "wireup"]
    assert {record.state for record in launches} == {"ok"}
    launched = {(r.launch.lane, r.launch.mode, r.launch.ranks) for r in launches if r.launch}
    lanes = {"openmpi@shm", "openmpi@tcp"}
    assert launched >= {(lane, mode, ranks) for lane in lanes for mode in ("timed", "checked") for ranks in (1, 2)}
    assert len({record.launch.id for record in launches if record.launch}) == len(launches)
    for record in launches:
        assert record.launch is not None
        assert record.launch.versions["input"] == file_digest(water / "water.tpr")
        metrics = {row.metric for row in record.rows}
        assert {"ns_per_day", "run_time", "communication_time", "activity_time"} <= metrics
        assert ("energy_deviation" in metrics) == (record.launch.mode == "checked")
    skipped = [(skip.lane, skip.benchmark, skip.ranks) for skip in result.skips]
    assert sorted(set(skipped)) == sorted(skipped)
    assert all(benchmark == "gromacs" for _, benchmark, _ in skipped)


def test_the_number_of_threads_is_part_of_the_case(water: Path, tmp_path: Path) -> None:
    process = reframe(tmp_path / "c", water, *ENERGIES, "-S", "threads=2", OMP_NUM_THREADS="1")
    assert process.returncode == 0, process.stdout[-3000:]
    (record,) = [r for r in read_campaign(tmp_path / "c").records if r.launch and r.launch.mode != "wireup"]
    assert {row.case for row in record.rows if row.metric == "energy_deviation"} == {
        "step=0 threads=2",
        "step=20 threads=2",
    }


@pytest.mark.parametrize(("moved_nm", "settings"), [(0.02, {}), (0.0, {"rcoulomb": "0.7", "rvdw": "0.7"})])
def test_a_changed_system_has_wrong_energies(
    water: Path, tmp_path: Path, moved_nm: float, settings: dict[str, str]
) -> None:
    changed_input = changed_water(water, tmp_path / "given", moved_nm, **settings)
    assert reframe(tmp_path / "c", changed_input, *ENERGIES).returncode == 1
    (reason,) = reasons(read_campaign(tmp_path / "c"))
    assert reason.endswith("the energies are wrong")


def test_an_invalid_reference_skips_the_launch(water: Path, tmp_path: Path) -> None:
    inputs = shutil.copytree(water, tmp_path / "given")
    reference = json.loads((inputs / "water.reference.json").read_text())
    (inputs / "water.reference.json").write_text(json.dumps(reference | {"sha256": "0" * 64}))
    reframe(tmp_path / "c", inputs, *ENERGIES)
    (skip,) = read_campaign(tmp_path / "c").skips
    assert "belongs to another input" in skip.reason
    (inputs / "water.reference.json").write_text("{")
    reframe(tmp_path / "e", inputs, *ENERGIES)
    (skip,) = read_campaign(tmp_path / "e").skips
    assert "is not a valid reference" in skip.reason
    (inputs / "water.reference.json").unlink()
    reframe(tmp_path / "d", inputs, *ENERGIES)
    (skip,) = read_campaign(tmp_path / "d").skips
    assert skip.reason == "there are no reference energies of water in double precision"


def test_an_impossible_number_of_ranks_skips_the_launch_with_the_message_of_gromacs(
    water: Path, tmp_path: Path
) -> None:
    options = (
        "-n",
        "^Gromacs%md_system=water",
        "-p",
        "^openmpi$",
        "--system",
        "local:shm",
        "-S",
        "Gromacs.oversubscribe=1",
    )
    process = reframe(tmp_path / "c", water, *options, FABRICBENCH_GROMACS_RANKS="17")
    assert process.returncode == 0, process.stdout[-3000:]
    (skip,) = read_campaign(tmp_path / "c").skips
    assert skip.reason.endswith("(17) contains a large prime factor 17")
    process = reframe(tmp_path / "d", water, *options, FABRICBENCH_GROMACS_RANKS="two")
    assert process.returncode == 2
    assert "FABRICBENCH_GROMACS_RANKS" in process.stdout + process.stderr


def test_a_missing_input_skips_the_launch_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    options = ("-n", "^Gromacs%md_system=dppc%at=1x1", "-p", "^openmpi$", "--system", "local:shm")
    reframe(tmp_path / "c", tmp_path / "empty", *options, "-S", "Gromacs.copies=8")
    result = {(skip.reason, skip.hint) for skip in read_campaign(tmp_path / "c").skips}
    assert result == {("the input dppc (copies: 8) is not prepared yet", "run: fabricbench inputs dppc --copies 8")}
    reframe(tmp_path / "d", tmp_path / "empty", *options, "-S", "Gromacs.copies=99")
    (skip,) = read_campaign(tmp_path / "d").skips
    assert skip.reason.endswith("99 copies; expected 1 to 8")
    process = reframe(tmp_path / "e", tmp_path / "nowhere", *options)
    assert process.returncode == 2
    assert "FABRICBENCH_GROMACS_INPUTS" in process.stdout + process.stderr
