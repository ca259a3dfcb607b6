# SPDX-License-Identifier: Apache-2.0
"""``gmx`` absent, old, broken, failing: shell scripts stand for it. And the real one on the first steps of dppc."""

import subprocess
import sys
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.inputs import start, water
from fabricbench.inputs.recipes import SYSTEMS, Gmx
from fabricbench.inputs.structure import read
from fabricbench.setup.gromacs import gmx as gromacs
from fabricbench.setup.gromacs.gmx import Gromacs, described, find_gromacs, run_gmx
from support.fake_site import REPOSITORY
from support.processes import clean_environment

SAID = """\
GROMACS version:    2022.5-Debian_2022.5_2
Precision:          mixed
MPI library:        thread_mpi
"""


def script(folder: Path, text: str, name: str = "gmx") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def says(folder: Path, text: str, name: str = "gmx") -> str:
    return script(folder, f"cat <<'END'\n{text}END", name)


def test_the_command_finds_either_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    says(tmp_path, SAID)
    found = find_gromacs(tmp_path / "log", print)
    assert found == Gromacs(str(tmp_path / "gmx"), "2022.5-Debian_2022.5_2", thread_mpi=True)
    assert found.run_options[:4] == ("-ntmpi", "1", "-ntomp", "2")
    mpi = described(says(tmp_path, SAID.replace("thread_mpi", "MPI"), "gmx_mpi"))
    assert "-ntmpi" not in mpi.run_options


def test_none_there_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gromacs, "is_root_on_debian", lambda: False)
    with pytest.raises(BadInput) as error:
        find_gromacs(tmp_path / "log", print)
    assert str(error.value) == (
        "no gmx and no gmx_mpi on PATH; expected GROMACS 2022 or newer; install it, on Debian: apt-get install gromacs"
    )


def test_what_may_be_installed_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(gromacs, "is_root_on_debian", lambda: True)
    monkeypatch.setattr(
        gromacs, "apt_install", lambda packages, log: script(tmp_path / "bin", f"/bin/cat <<'END'\n{SAID}END")
    )
    said: list[str] = []
    assert find_gromacs(tmp_path / "log", said.append).version.startswith("2022.5")
    assert said == ["installing Debian's gromacs"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SAID.replace("2022.5-Debian_2022.5_2", "2019.6"), "gmx: it is version 2019.6; expected GROMACS 2022 or newer"),
        ("another program\n", "gmx: it does not say its version; expected GROMACS's gmx"),
        (SAID.replace("mixed", "double"), "gmx: it is in double precision; expected mixed precision"),
    ],
)
def test_one_that_will_not_do(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        described(says(tmp_path, text))
    assert message in str(error.value)


def test_a_failing_command_shows_the_error_and_keeps_the_log(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        "echo Reading; printf '%s\\n' ------- 'Program:     gmx mdrun' '' 'Fatal error:' 'Step 40: too many LINCS' "
        "'warnings (1000)' '' 'For more information and tips see the manual' -------; exit 1",
    )
    log = tmp_path / "step.log"
    with pytest.raises(BadInput) as error:
        run_gmx(Gromacs(program, "1", True), ["mdrun"], directory=tmp_path, log=log, answer="", what="toy, run")
    assert str(error.value) == f"{log}: toy, run failed: Step 40: too many LINCS warnings (1000)"
    assert "Reading" in log.read_text()
    killed = script(tmp_path, "echo halfway there; kill -9 $$")
    with pytest.raises(BadInput, match=r"toy, run failed: .*halfway there"):
        run_gmx(Gromacs(killed, "1", True), ["mdrun"], directory=tmp_path, log=log, answer="", what="toy, run")


def test_the_users_variables_do_not_change_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = script(tmp_path, "env")
    for name in ("GMX_NSTLIST", "OMP_NUM_THREADS", "KMP_AFFINITY"):
        monkeypatch.setenv(name, "7")
    monkeypatch.setenv("GMXLIB", "/kept")
    log = tmp_path / "log"
    run_gmx(Gromacs(program, "1", True), [], directory=tmp_path, log=log, answer="", what="env")
    seen = dict(line.split("=", 1) for line in log.read_text().splitlines()[1:] if "=" in line)
    assert not {"GMX_NSTLIST", "OMP_NUM_THREADS", "KMP_AFFINITY"} & set(seen)
    assert seen["GMXLIB"] == "/kept"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vilin"], "unknown system 'vilin'; expected villin"),
        (["--copies", "9"], "--copies: 9 copies; expected 1 to 8"),
        (["villin", "--directory", "/proc/none"], "make it writable, or give --directory"),
    ],
)
def test_the_command_in_wrong_use(arguments: list[str], message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fabricbench.cli", "inputs", *arguments],
        cwd=REPOSITORY, env=clean_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_water_about_a_protein_is_the_same_every_time(
    gmx: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too much water is taken out evenly; ``solvate`` by itself would take it out at random."""
    monkeypatch.setattr(water, "VILLIN_WATERS", 200)
    made = []
    for name in ("one", "two"):
        place = tmp_path / name
        place.mkdir()
        words = ("solvate", "-cs", "spc216", "-box", "2", "2", "2", "-o", "conf.gro")
        run_gmx(described(gmx), words, directory=place, log=tmp_path / "log", answer="", what="water")
        assert read(place / "conf.gro").names.count("OW") > 200
        (place / "topol.top").write_text("[ molecules ]\n")
        water.villin_water(place, {})
        assert (place / "topol.top").read_text() == "[ molecules ]\nSOL 200\n"
        made.append((place / "conf.gro").read_bytes())
    assert read(tmp_path / "one/conf.gro").names == ("OW", "HW1", "HW2") * 200
    assert made[0] == made[1]
    assert not [word for made in SYSTEMS.values() for step in made.cell if isinstance(step, Gmx)
                for command in step.commands for word in command if word == "-maxsol"]  # fmt: skip
    with pytest.raises(BadInput, match="only 200 waters fit into the box; expected at least 7300"):
        water.lysozyme_water(tmp_path / "one", {})


def test_a_lipid_has_the_atoms_of_the_force_field(gmx: str, tmp_path: Path) -> None:
    """The generated bilayer in water is what GROMOS 54A7's DPPC describes: ``grompp`` compares every name."""
    dppc = SYSTEMS["dppc"]
    log = tmp_path / "log"
    found = described(gmx)
    start.bilayer(tmp_path, {})
    (water,) = [step for step in dppc.cell if isinstance(step, Gmx)]
    for command in water.commands:
        run_gmx(found, command, directory=tmp_path, log=log, answer="", what="water")
    start.water_outside(tmp_path, {})
    made = read(tmp_path / "conf.gro")
    assert len(made) * 8 == 121_856
    assert made.names.count("OW") == start.WATERS
    mdp = str(dppc.folder / "minimise.mdp")
    words = ("grompp", "-f", mdp, "-c", "conf.gro", "-p", "topol.top", "-maxwarn", str(dppc.warnings))
    run_gmx(found, words, directory=tmp_path, log=log, answer="", what="grompp")
    assert "non-matching atom names" not in log.read_text()
