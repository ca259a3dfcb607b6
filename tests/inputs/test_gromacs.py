# SPDX-License-Identifier: Apache-2.0
"""Absent, old, broken and failing ``gmx``, as shell scripts; the real one on single steps of the recipes."""

import subprocess
import sys
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.setup.gromacs import gmx as gromacs
from fabricbench.setup.gromacs.gmx import Gromacs, described, find_gromacs, run_gmx
from recipe import recipes, start, water
from recipe.recipes import RECIPES, GmxStep
from recipe.structure import read
from support.fake_site import REPOSITORY
from support.processes import clean_environment, shell_program

VERSION_TEXT = """\
GROMACS version:    2022.5-Debian_2022.5_2
Precision:          mixed
MPI library:        thread_mpi
"""


def printing(folder: Path, text: str, name: str = "gmx") -> str:
    return shell_program(folder, name, f"cat <<'END'\n{text}END")


def test_the_command_finds_either_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    printing(tmp_path, VERSION_TEXT)
    programs = find_gromacs(tmp_path / "log", print)
    assert programs == Gromacs(str(tmp_path / "gmx"), "2022.5-Debian_2022.5_2", thread_mpi=True)
    assert programs.run_options[:4] == ("-ntmpi", "1", "-ntomp", "2")
    mpi = described(printing(tmp_path, VERSION_TEXT.replace("thread_mpi", "MPI"), "gmx_mpi"))
    assert "-ntmpi" not in mpi.run_options


def test_without_a_program_the_error_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gromacs, "is_root_on_debian", lambda: False)
    with pytest.raises(BadInput) as error:
        find_gromacs(tmp_path / "log", print)
    assert str(error.value) == (
        "no gmx and no gmx_mpi on PATH; expected GROMACS 2022 or newer; install it, on Debian: apt-get install gromacs"
    )


def test_root_on_debian_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(gromacs, "is_root_on_debian", lambda: True)
    monkeypatch.setattr(
        gromacs,
        "apt_install",
        lambda packages, log: shell_program(tmp_path / "bin", "gmx", f"/bin/cat <<'END'\n{VERSION_TEXT}END"),
    )
    lines: list[str] = []
    assert find_gromacs(tmp_path / "log", lines.append).version.startswith("2022.5")
    assert lines == ["installing Debian's gromacs"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            VERSION_TEXT.replace("2022.5-Debian_2022.5_2", "2019.6"),
            "gmx: it is version 2019.6; expected GROMACS 2022 or newer",
        ),
        ("another program\n", "gmx: its --version prints no version; expected GROMACS's gmx"),
        (VERSION_TEXT.replace("mixed", "double"), "gmx: it has double precision; expected mixed precision"),
    ],
)
def test_an_unsuitable_program_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        described(printing(tmp_path, text))
    assert message in str(error.value)


def test_a_failing_command_reports_its_error_and_keeps_the_log(tmp_path: Path) -> None:
    program = shell_program(
        tmp_path,
        "gmx",
        "echo Reading; printf '%s\\n' ------- 'Program:     gmx mdrun' '' 'Fatal error:' 'Step 40: too many LINCS' "
        "'warnings (1000)' '' 'For more information and tips see the manual' -------; exit 1",
    )
    log = tmp_path / "step.log"
    with pytest.raises(BadInput) as error:
        run_gmx(Gromacs(program, "1", True), ["mdrun"], directory=tmp_path, log=log, answer="", what="toy, run")
    assert str(error.value) == f"{log}: toy, run failed: Step 40: too many LINCS warnings (1000)"
    assert "Reading" in log.read_text()
    killed = shell_program(tmp_path, "gmx", "echo halfway there; kill -9 $$")
    with pytest.raises(BadInput, match=r"toy, run failed: .*halfway there"):
        run_gmx(Gromacs(killed, "1", True), ["mdrun"], directory=tmp_path, log=log, answer="", what="toy, run")


def test_variables_of_gromacs_and_openmp_are_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shell_program(tmp_path, "gmx", "env")
    for name in ("GMX_NSTLIST", "OMP_NUM_THREADS", "KMP_AFFINITY"):
        monkeypatch.setenv(name, "7")
    monkeypatch.setenv("GMXLIB", "/kept")
    log = tmp_path / "log"
    run_gmx(Gromacs(program, "1", True), [], directory=tmp_path, log=log, answer="", what="env")
    environment = dict(line.split("=", 1) for line in log.read_text().splitlines()[1:] if "=" in line)
    assert not {"GMX_NSTLIST", "OMP_NUM_THREADS", "KMP_AFFINITY"} & set(environment)
    assert environment["GMXLIB"] == "/kept"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vilin"], "unknown system 'vilin'; expected villin"),
        (["--copies", "9"], "--copies: 9 copies; expected 1 to 8"),
        (["villin", "--directory", "/proc/none"], "make it writable, or give --directory"),
    ],
)
def test_wrong_use_of_the_command(arguments: list[str], message: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "fabricbench.cli", "inputs", *arguments],
        cwd=REPOSITORY, env=clean_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_surplus_water_is_removed_reproducibly(gmx: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``solvate -maxsol`` would remove water at random, so no recipe uses it."""
    monkeypatch.setattr(water, "VILLIN_WATERS", 200)
    versions = []
    for name in ("one", "two"):
        place = tmp_path / name
        place.mkdir()
        words = ("solvate", "-cs", "spc216", "-box", "2", "2", "2", "-o", "conf.gro")
        run_gmx(described(gmx), words, directory=place, log=tmp_path / "log", answer="", what="water")
        assert read(place / "conf.gro").names.count("OW") > 200
        (place / "topol.top").write_text("[ molecules ]\n")
        water.villin_water(place, {})
        assert (place / "topol.top").read_text() == "[ molecules ]\nSOL 200\n"
        versions.append((place / "conf.gro").read_bytes())
    assert read(tmp_path / "one/conf.gro").names == ("OW", "HW1", "HW2") * 200
    assert versions[0] == versions[1]
    commands = [command for recipe in RECIPES.values() for step in recipe.steps if isinstance(step, GmxStep)
                for command in step.commands]  # fmt: skip
    assert not any("-maxsol" in command for command in commands)
    with pytest.raises(BadInput, match="only 200 waters fit into the box; expected at least 7300"):
        water.lysozyme_water(tmp_path / "one", {})


def test_a_lipid_has_the_atoms_of_the_force_field(gmx: str, tmp_path: Path) -> None:
    """``grompp`` compares every atom name of the generated bilayer with GROMOS 54A7's DPPC."""
    dppc = RECIPES["dppc"]
    log = tmp_path / "log"
    programs = described(gmx)
    start.bilayer(tmp_path, {})
    (water_step,) = [step for step in dppc.steps if isinstance(step, GmxStep)]
    for command in water_step.commands:
        run_gmx(programs, command, directory=tmp_path, log=log, answer="", what="water")
    start.water_outside(tmp_path, {})
    bilayer = read(tmp_path / "conf.gro")
    assert len(bilayer) * 8 == 121_856
    assert bilayer.names.count("OW") == start.WATERS
    mdp = str(recipes.SETTINGS / "dppc/minimise.mdp")
    words = ("grompp", "-f", mdp, "-c", "conf.gro", "-p", "topol.top", "-maxwarn", str(dppc.grompp_warnings))
    run_gmx(programs, words, directory=tmp_path, log=log, answer="", what="grompp")
    assert "non-matching atom names" not in log.read_text()
