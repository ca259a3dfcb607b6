# SPDX-License-Identifier: Apache-2.0
"""Reads stacks from Spack's views and lock without Spack: complete, incomplete and broken ones."""

import json
import os
import re
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.setup import spack as spack_setup
from fabricbench.setup.spack import find_spack, views_in, whole_view
from fabricbench.site.spack import Lock, locked, package_of, read_environment, read_lock, read_view
from fabricbench.site.stacks import read_installed
from support import fake_site, spack
from support.fake_site import REPOSITORY, FakeSite
from support.spack import HASHES

MPICH = read_environment(REPOSITORY / "spack.yaml").stacks["mpich"]


def a_view(root: Path, *, without: str = "") -> Path:
    """Makes a view with this project's programs, OSU's and an MPI, without one file."""
    files = {
        "mpich": ("bin/mpirun",),
        "fabricbench": spack_setup.OWN,
        "osu-micro-benchmarks": ("libexec/osu-micro-benchmarks/mpi/pt2pt/osu_latency",),
    }
    prefixes = []
    for name, paths in files.items():
        prefix = spack.package(root / "store", name)
        for path in paths:
            if path != without:
                (prefix / path).parent.mkdir(parents=True, exist_ok=True)
                (prefix / path).touch()
        prefixes.append(prefix)
    return spack.view(root / "mpich", *prefixes)


def test_the_contents_of_a_view(tmp_path: Path) -> None:
    view = whole_view(a_view(tmp_path))
    assert view.packages == {name: HASHES[name] for name in ("fabricbench", "mpich", "osu-micro-benchmarks")}
    assert view.prefix == view.mpi_prefix == (tmp_path / "._mpich/abc").resolve()


def test_an_mpi_of_the_system_has_the_prefix_of_the_external(tmp_path: Path) -> None:
    prefix = spack.package(tmp_path / "store", "fabricbench", external_mpi=Path("/opt/mpi"))
    assert read_view(spack.view(tmp_path / "mpich", prefix)).mpi_prefix == Path("/opt/mpi")


@pytest.mark.parametrize("file", ["bin/mpirun", *spack_setup.OWN, "libexec/osu-micro-benchmarks/mpi/pt2pt/osu_latency"])
def test_a_view_without_a_program_is_incomplete(tmp_path: Path, file: str) -> None:
    expected = file if "osu" not in file else "libexec/osu-micro-benchmarks"
    with pytest.raises(BadInput, match=re.escape(f"incomplete: {tmp_path}/._mpich/abc/{expected} is missing")):
        whole_view(a_view(tmp_path, without=file))


def test_a_view_without_this_projects_programs(tmp_path: Path) -> None:
    path = spack.view(tmp_path / "mpich", spack.package(tmp_path / "store", "mpich"))
    with pytest.raises(BadInput, match="incomplete: it has no fabricbench"):
        read_view(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="nothing is installed in it"):
        read_view(tmp_path / "empty")
    with pytest.raises(BadInput, match=re.escape("no view; expected a view of one stack; run: spack -e . install")):
        read_view(tmp_path / "none")
    with pytest.raises(BadInput, match="no view in it"):
        views_in(tmp_path / "empty")


def test_a_broken_spec_is_named(tmp_path: Path) -> None:
    prefix = spack.package(tmp_path / "store", "fabricbench")
    (prefix / ".spack/spec.json").write_text('{"spec": {"nodes": []}}')
    with pytest.raises(BadInput, match=r"spec\.json: not Spack's: spec\.nodes: "):
        read_view(spack.view(tmp_path / "mpich", prefix))


def test_a_lock_has_the_hashes_of_a_stack_and_its_dependents() -> None:
    lock = Lock.model_validate(spack.lock("fabricbench", "gromacs"))
    assert locked(lock, MPICH, "spack.lock") == {name: HASHES[name] for name in ("mpich", "fabricbench", "gromacs")}


def test_a_lock_without_the_stack_and_one_with_two_builds_of_it() -> None:
    environment = read_environment(REPOSITORY / "spack.yaml")
    lock = Lock.model_validate(spack.lock("fabricbench"))
    with pytest.raises(BadInput, match=r"spack\.lock: the stack mpich-ofi is not in it"):
        locked(lock, environment.stacks["mpich-ofi"], "spack.lock")
    second = spack.node("mpich", hash="n" * 32)
    on_second = spack.node("gromacs")
    on_second["dependencies"][0]["hash"] = second["hash"]
    nodes = [spack.node("mpich"), second, spack.node("fabricbench"), on_second]
    with pytest.raises(BadInput, match="two builds of mpich in the stack mpich, mmmmmmm and nnnnnnn"):
        locked(Lock.model_validate(spack.lock(nodes=nodes)), MPICH, "spack.lock")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"roots": [], "concrete_specs": {"a": {}}}'])
def test_a_broken_lock_prints_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "spack.lock").write_text(text)
    with pytest.raises(BadInput, match=r"spack\.lock: not Spack's: .*; make it anew: spack -e \. concretize"):
        read_lock(tmp_path / "spack.lock")


def test_every_launch_on_a_view_records_its_hashes(tmp_path: Path) -> None:
    site = on_views(tmp_path)
    result = site.fabricbench("setup", "--spack", str(tmp_path / "views"))
    assert result.returncode == 0, result.stderr
    installed = read_installed(tmp_path / "build/stacks/one/stack.json")
    assert installed is not None
    assert (installed.source, installed.version) == ("spack", "mpich 1.0")
    assert installed.apps == str(tmp_path / "views/._one/abc")
    result = site.reframe(
        *("-c", "reframe_checks", "-n", "^MicroPingpong", "-p", "^one$", "-r"),
        FABRICBENCH_CAMPAIGN=str(tmp_path / "campaign"),
    )
    launches = [json.loads(file.read_text()) for file in (tmp_path / "campaign/launches").rglob("launch.json")]
    assert launches, result.stdout
    assert all(launch["spec_hash"] == {name: HASHES[name] for name in ("mpich", "fabricbench")} for launch in launches)


def test_a_stack_that_spack_did_not_build_has_no_hash(tmp_path: Path) -> None:
    assert package_of(tmp_path / "bin/program") is None


def test_a_view_of_an_unknown_stack(tmp_path: Path) -> None:
    site = on_views(tmp_path)
    (tmp_path / "views/one").rename(tmp_path / "views/onne")
    result = site.fabricbench("setup", "--spack", str(tmp_path / "views"))
    assert result.returncode == 2
    assert "unknown stack 'onne'; expected one" in result.stderr


def on_views(root: Path) -> FakeSite:
    """The fake site with the stack ``one`` as a view that uses the MPI of the system."""
    site = fake_site.make(root)
    prefix = spack.package(root / "store", "fabricbench", external_mpi=site.stack("one") / "prefix")
    spack.programs(prefix, site.stack("one") / "apps")
    (prefix / "bin/fabricbench-is").touch()
    (root / "views").mkdir()
    spack.view(root / "views/one", prefix)
    return site


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 1.0.2", "Spack 1.0.2 is too old; expected 1.1 or newer"),
        ("echo 0.23.1", "Spack 0.23.1 is too old"),
        ("echo no >&2; exit 1", "bin/spack --version prints no version: no"),
        (None, "SPACK_ROOT holds no Spack"),
    ],
)
def test_an_unsuitable_spack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, message: str) -> None:
    if script is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/spack").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin/spack").chmod(0o755)
    monkeypatch.setenv("SPACK_ROOT", str(tmp_path))
    with pytest.raises(BadInput, match=re.escape(message)) as error:
        find_spack()
    assert str(error.value).startswith(f"{tmp_path}: ")
    assert "\n" not in str(error.value)
    monkeypatch.delenv("SPACK_ROOT")
    with pytest.raises(BadInput, match="SPACK_ROOT is not set; export SPACK_ROOT=DIRECTORY of Spack 1"):
        find_spack()


def test_doctor_compares_site_lock_and_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spack_setup, "REPOSITORY", tmp_path)
    (tmp_path / "spack.yaml").write_text((REPOSITORY / "spack.yaml").read_text())
    folder = tmp_path / "site/ours/spack"
    folder.mkdir(parents=True)
    (tmp_path / "site/stacks.py").write_text((REPOSITORY / "site/stacks.py").read_text())
    settings = (REPOSITORY / "site/local/settings.py").read_text()
    settings = settings.replace('"local"', '"ours"').replace('["impi", "mpich", "openmpi"]', '["mpich", "mvapich2"]')
    (tmp_path / "site/ours/settings.py").write_text(settings)
    monkeypatch.setenv("FABRICBENCH_SITES", str(tmp_path / "site"))
    (folder / "stacks.yaml").write_text("definitions:\n  - stacks: [$mpich]\n")
    with pytest.raises(BadInput, match=r"stacks\.yaml: .* names the stack mvapich2, which is not in it"):
        list(spack_setup.examine_spack("ours"))

    (folder / "stacks.yaml").write_text("definitions:\n  - stacks: [$mpich, $mvapich2]\n")
    (folder / "spack.lock").write_text(json.dumps(spack.lock("fabricbench", "osu-micro-benchmarks")))
    (tmp_path / "build/views").mkdir(parents=True)
    os.rename(a_view(tmp_path), tmp_path / "build/views/mpich")
    mpich, mvapich2 = spack_setup.examine_spack("ours")
    assert (mpich.ready, mvapich2.ready) == (True, False)
    assert "mpich/mmmmmmm" in mpich.detail
    assert "the stack mvapich2 is not in it" in mvapich2.detail

    (folder / "spack.lock").write_text(json.dumps(spack.lock("fabricbench", "gromacs")))
    mpich, _ = spack_setup.examine_spack("ours")
    assert "incomplete: gromacs is missing" in mpich.detail
    other = [spack.node("mpich"), spack.node("fabricbench", hash="a" * 32)]
    (folder / "spack.lock").write_text(json.dumps(spack.lock(nodes=other)))
    mpich, _ = spack_setup.examine_spack("ours")
    assert "fabricbench/fffffff is not the lock's fabricbench/aaaaaaa" in mpich.detail
