# SPDX-License-Identifier: Apache-2.0
"""A small system through all steps of the real ``gmx``: built once, the same again, copied, killed, refused."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.inputs.cache import Found, Missing, find_input
from fabricbench.inputs.checks import Check
from fabricbench.inputs.structure import read
from fabricbench.setup.gromacs import build as inputs
from fabricbench.setup.gromacs import gmx as gromacs
from support import toy_input
from support.processes import alive, clean_environment, parent, program, wait_until

PICOSECONDS = 10

pytestmark = pytest.mark.usefixtures("gmx")


def differences(gmx: str, one: Path, other: Path) -> list[str]:
    """What ``gmx check`` finds different in two run inputs."""
    done = subprocess.run(
        [gmx, "-quiet", "check", "-s1", str(one), "-s2", str(other)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any("comparing" in line for line in lines), done.stdout
    return [line for line in lines if line.strip() and not line.startswith(("comparing", "Both files"))]


def children(pid: int) -> list[int]:
    """Processes of ``gmx`` that the process ``pid`` has started."""
    everyone = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [one for one in everyone if parent(one) == pid and program(one).startswith("gmx")]


def test_it_is_built_found_copied_and_the_same_again(gmx: str, tmp_path: Path) -> None:
    made = toy_input.system(tmp_path / "settings")
    missing = find_input("toy", root=tmp_path / "one")
    assert isinstance(missing, Missing)
    assert missing.hint == "run: fabricbench inputs toy"
    first, said = toy_input.build(tmp_path / "one", made)
    assert said == [f"toy: {step}" for step in ("start", "water", "minimise", "equilibrate", "settle", "reference")]
    assert first.facts is not None
    assert first.facts.atoms == len(read(first.tpr.with_name("conf.gro")))
    assert set(first.facts.steps) >= {"water", "equilibrate", "settle"}
    assert toy_input.build(tmp_path / "one", made) == (first, [])
    assert find_input("toy", root=tmp_path / "one") == first

    other, _ = toy_input.build(tmp_path / "two", made)
    assert differences(gmx, first.tpr, other.tpr) == []
    assert first.tpr.with_name("conf.gro").read_bytes() == other.tpr.with_name("conf.gro").read_bytes()

    four, said = toy_input.build(tmp_path / "one", made, copies=4)
    assert said == ["toy: copies", "toy: settle", "toy: reference"]
    assert four.facts is not None
    assert four.facts.atoms == 4 * first.facts.atoms
    assert find_input("toy", 4, root=tmp_path / "one") == four

    first.tpr.write_bytes(first.tpr.read_bytes()[:-1])
    damaged = find_input("toy", root=tmp_path / "one")
    assert isinstance(damaged, Missing)
    assert "is not the file that was made" in damaged.reason
    again, said = toy_input.build(tmp_path / "one", made)
    assert said == ["toy: settle", "toy: reference"]
    assert differences(gmx, again.tpr, other.tpr) == []


def test_a_killed_build_goes_on_from_its_checkpoint(gmx: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, toy_input.__file__, str(tmp_path), str(PICOSECONDS)],
        env=clean_environment() | {"PYTHONPATH": "tests"},
    )
    wait_until(lambda: list(tmp_path.glob("toy-cell-*/04-equilibrate.part/parts-done")), "a checkpoint")
    wait_until(lambda: children(process.pid), "the next part")
    running = children(process.pid)
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(alive, running)), "the end of mdrun")
    assert not list(tmp_path.glob("toy-cell-*/04-equilibrate"))
    made = toy_input.system(tmp_path / "settings", picoseconds=PICOSECONDS)
    resumed, said = toy_input.build(tmp_path, made)
    assert said == ["toy: equilibrate, from its checkpoint", "toy: settle", "toy: reference"]
    straight, _ = toy_input.build(tmp_path / "other", made)
    assert differences(gmx, resumed.tpr, straight.tpr) == []


def test_a_wrong_system_is_refused_every_time(tmp_path: Path) -> None:
    heavy = (*toy_input.CHECKS[:1], Check("density", "kg/m3", 1900, 2100), *toy_input.CHECKS[2:])
    made = toy_input.system(tmp_path / "settings", checks=heavy)
    for _ in range(2):
        with pytest.raises(BadInput, match=r"not the system it should be: density [89]\d\d.* kg/m3 \(1900 to 2100\)"):
            toy_input.build(tmp_path, made)
        assert isinstance(find_input("toy", root=tmp_path), Missing)
    good = toy_input.system(tmp_path / "settings")
    assert isinstance(toy_input.build(tmp_path, good)[0], Found)
    toy_input.system(tmp_path / "settings", checks=heavy)
    missing = find_input("toy", root=tmp_path)
    assert isinstance(missing, Missing)
    assert "is not the system it should be: density" in missing.reason


def test_a_step_that_fails_says_gromacss_own_words(tmp_path: Path) -> None:
    made = toy_input.system(tmp_path / "settings")
    (tmp_path / "settings/toy/minimise.mdp").write_text("integrator = steap\n")
    with pytest.raises(BadInput, match=r"logs/minimise.log: toy, minimise: gmx grompp failed: .*'steap'.*integrator"):
        toy_input.build(tmp_path, made)


def test_only_one_build_at_a_time(tmp_path: Path) -> None:
    made = toy_input.system(tmp_path / "settings")
    with inputs._alone(tmp_path), pytest.raises(BadInput, match="another command makes inputs here"):
        toy_input.build(tmp_path, made)


def test_no_room_before_and_while_building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = toy_input.system(tmp_path / "settings")
    with monkeypatch.context() as patch:
        patch.setattr(inputs, "free_bytes", lambda path: 5_000_000)
        with pytest.raises(BadInput, match="5 MB free; expected 303 MB for toy; make room, or give --directory"):
            toy_input.build(tmp_path, made)
    (tmp_path / "settings/toy/minimise.mdp").write_text("integrator = steap\n")
    monkeypatch.setattr(gromacs, "LEAST_FREE_BYTES", 2**62)
    with pytest.raises(BadInput, match="toy, minimise: gmx grompp: the disk is full"):
        toy_input.build(tmp_path, made)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    made = toy_input.system(tmp_path / "settings")
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="make it writable, or give --directory"):
        toy_input.build(tmp_path / "file/inside", made)


def test_a_gromacs_that_is_updated_makes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = toy_input.system(tmp_path / "settings")
    first, _ = toy_input.build(tmp_path, made)
    found = gromacs.find_gromacs(tmp_path / "log", print)
    monkeypatch.setattr(inputs, "find_gromacs", lambda log, say: replace(found, version=f"{found.version}-next"))
    second, said = toy_input.build(tmp_path, made)
    assert said[0] == "toy: start"
    assert second.tpr != first.tpr
    assert find_input("toy", root=tmp_path) == second
