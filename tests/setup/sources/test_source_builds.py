# SPDX-License-Identifier: Apache-2.0
"""``fabricbench setup --source`` on stacks that are shell scripts, with small trees of our own."""

import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from fabricbench.site.stacks import STACK_FILE, Installed, read_installed
from support import fake_site
from support.documents import document
from support.fake_site import FakeSite
from support.source_trees import builds, describe, make_tree


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    site = fake_site.make(tmp_path)
    describe(site)
    return site


@pytest.fixture
def osu(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "osu", "osu", "7.4")


def installed(site: FakeSite, name: str = "one") -> Installed:
    record = read_installed(site.stack(name) / STACK_FILE)
    assert record is not None
    return record


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_tree_is_built_on_every_stack(site: FakeSite, osu: Path) -> None:
    before = contents(osu)
    result = site.inside("setup", "--source", str(osu))
    assert result.returncode == 0, result.stderr
    assert "building OSU Micro-Benchmarks 7.4 on one\n" in result.stdout
    assert contents(osu) == before
    for name in ("one", "two"):
        build = installed(site, name).sources["osu"]
        assert (build.version, build.origin, build.options) == ("7.4", str(osu), {"cflags": "-O3"})
        assert list(Path(build.prefix).rglob("osu_latency"))
        assert Path(build.prefix).is_relative_to(site.stack(name))
        assert not (Path(build.prefix).parent / "tree").exists()


def test_only_what_changed_is_built(site: FakeSite, osu: Path) -> None:
    def after(*options: str) -> int:
        assert site.inside("setup", "one", "--source", str(osu), *options).returncode == 0
        return builds(site)

    assert [after(), after()] == [1, 1]
    assert [after("--option", "osu.cflags=-O2"), after("--option", "osu.cflags=-O2")] == [2, 2]
    make_tree(osu, "osu", "5.3.2")
    assert [after("--option", "osu.cflags=-O2"), after("--option", "osu.cflags=-O2")] == [3, 3]
    build = installed(site).sources["osu"]
    assert build.version == "5.3.2"
    places = [path.name for path in Path(build.prefix).parents[1].iterdir() if path.is_dir()]
    assert places == [build.key]
    shutil.rmtree(build.prefix)
    assert after("--option", "osu.cflags=-O2") == 4


def test_an_archive(site: FakeSite, osu: Path, tmp_path: Path) -> None:
    archive = tmp_path / "osu.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(osu, "osu-7.4")
    for _ in range(2):
        result = site.inside("setup", "one", "--source", str(archive))
        assert (result.returncode, builds(site)) == (0, 1), result.stderr
    assert installed(site).sources["osu"].origin == str(archive)
    assert not (site.root / "build/unpacked").exists()


def test_classes_and_flags(site: FakeSite, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "NPB3.4.1/NPB3.4-MPI", "npb", "3.4.1")
    result = site.inside("setup", "one", "--source", str(tree.parent), "--option", "npb.classes=S A")
    assert result.returncode == 0, result.stderr
    folder = Path(installed(site).sources["npb"].prefix, "bin")
    assert sorted(path.name for path in folder.iterdir()) == ["cg.A.x", "cg.S.x", "is.A.x", "is.S.x"]
    assert (folder / "is.A.x").read_text().split() == ["-O3", "-march=native", "-fno-common"]


def test_a_failed_build_leaves_the_others(site: FakeSite, osu: Path, tmp_path: Path) -> None:
    assert site.inside("setup", "--source", str(osu)).returncode == 0
    earlier = installed(site).sources["osu"]
    (osu / "broken").touch()
    npb = make_tree(tmp_path / "npb", "npb", "3.4.1")
    result = site.inside("setup", "--source", str(osu), "--source", str(npb))
    assert result.returncode == 0
    log = site.stack("one") / "sources/osu/build.log"
    assert f"not set up: one: {log}: building OSU Micro-Benchmarks 7.4: sh build.sh" in result.stderr
    assert "osu_latency.c:7: error: expected ';'" in result.stderr
    assert installed(site).sources["osu"] == earlier
    assert Path(earlier.prefix).is_dir()
    assert set(installed(site).sources) == {"npb", "osu"}
    result = site.inside("setup", "one", "--source", str(osu))
    assert (result.returncode, result.stdout) == (2, "building OSU Micro-Benchmarks 7.4 on one\n")
    assert "no source could be set up" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "{osu}", "--source", "{osu}"], "a second source of osu; name one of them"),
        (["--source", "{osu}/nothing"], "no such file or folder; expected an archive or a source tree"),
        (["--source", "{osu}/version"], "not an archive that is known here"),
        (["--source", "{osu}", "--option", "osu.cflag=1"], "osu has no option 'cflag'; expected cflags"),
        (["--source", "{osu}", "--option", "cflags=1"], "--option: 'cflags=1'; expected PACKAGE.NAME=VALUE"),
        (["--source", "{osu}", "--option", "ous.cflags=1"], "unknown package 'ous'; expected osu"),
        (["--source", "{osu}", "--again"], "--source goes with no other option than --option"),
        (["--option", "osu.cflags=1"], "--option is for --source"),
        (["three", "--source", "{osu}"], "unknown stack 'three'"),
    ],
)
def test_wrong_use(site: FakeSite, osu: Path, arguments: list[str], message: str) -> None:
    result = site.inside("setup", *(word.replace("{osu}", str(osu)) for word in arguments))
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_stack_that_is_not_set_up(site: FakeSite, osu: Path) -> None:
    (site.stack("two") / STACK_FILE).unlink()
    result = site.inside("setup", "--source", str(osu))
    assert (result.returncode, result.stderr) == (0, "")
    result = site.inside("setup", "two", "--source", str(osu))
    assert result.returncode == 2
    assert "two: it is not set up; run: fabricbench setup" in result.stderr


def test_a_site_without_a_build_description_uses_that_of_the_project(site: FakeSite, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "imb", "imb", "2021.9")
    result = site.inside("setup", "one", "--source", str(tree))
    assert result.returncode == 2
    assert "one: the stack has no mpicxx" in result.stderr


def test_an_option_of_a_package_that_is_not_named(site: FakeSite, osu: Path) -> None:
    result = site.inside("setup", "one", "--source", str(osu), "--option", "npb.classes=S")
    assert result.returncode == 0, "the other packages are built"
    assert "--option npb.…: no source of NAS Parallel Benchmarks (MPI) is named" in result.stderr
    assert "osu" in installed(site).sources


def test_products_of_an_earlier_build_are_not_used(site: FakeSite, osu: Path) -> None:
    """make would take them for up to date, although another MPI library may have built them."""
    description = site.root / "site/sources/osu.yaml"
    description.write_text(description.read_text() + 'products: ["*.x"]\n')
    (osu / "src").mkdir()
    for name in ("src/a.o", "src/a.mod", "src/a.x", "src/a.c"):
        (osu / name).touch()
    build = osu / "build.sh"
    build.write_text(build.read_text() + 'ls src > "$folder/osu_listing"\n')
    assert site.inside("setup", "one", "--source", str(osu)).returncode == 0
    folder = Path(installed(site).sources["osu"].prefix, "libexec/osu-micro-benchmarks")
    assert (folder / "osu_listing").read_text() == "a.c\n"


def test_a_build_with_another_mpi_library_is_an_error(site: FakeSite, osu: Path) -> None:
    build = osu / "build.sh"
    build.write_text(build.read_text() + f'cp {os.path.realpath("/bin/sh")} "$folder/osu_latency"\n')
    result = site.inside("setup", "one", "--source", str(osu))
    assert result.returncode == 2
    assert "OSU Micro-Benchmarks 7.4 was built with another MPI: it loads no MPI library" in result.stderr
    assert "osu" not in installed(site).sources


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: []\n", "imb.yaml:1: steps: Tuple should have at least 1 item"),
        ("provides: [a]\nsteps:\n  - run: [make]\n    folders: x\n", "imb.yaml:4: steps.0.folders: Extra inputs"),
        ("provides: [a]\nstep: 1\n", "unknown key 'step' in a build description; expected steps"),
        ("provides: [a]\nsteps: [{run: [make, '{cc}']}]\n", "unknown name '{cc}'; expected mpicc"),
        ("provides: [a]\nsteps: [{run: [make], folder: ../..}]\n", "'../..' lies outside the source tree"),
        ("provides: [a]\nfiles: {../x: y}\nsteps: [{run: [make]}]\n", "'../x' lies outside the source tree"),
        ("provides: [a]\nsteps: [{run: ['true']}]\n", "the build ended without a"),
        ("needs: [mpif90]\nprovides: [a]\nsteps: [{run: ['true']}]\n", "the stack has no mpif90; install a Fortran"),
    ],
)
def test_a_wrong_build_description(site: FakeSite, tmp_path: Path, text: str, message: str) -> None:
    (site.root / "site/sources/imb.yaml").write_text(text)
    result = site.inside("setup", "one", "--source", str(make_tree(tmp_path / "imb", "imb", "2021.9")))
    assert result.returncode == 2
    assert message in result.stderr


@pytest.mark.parametrize("tool", ["sh", "no-such-tool"])
def test_a_checkout_without_generated_files(site: FakeSite, osu: Path, tool: str) -> None:
    file = site.root / "site/sources/osu.yaml"
    generated = f"generated: {{file: build.sh, tools: [{tool}], command: [cp, renamed, build.sh]}}\n"
    file.write_text(file.read_text() + generated)
    (osu / "build.sh").rename(osu / "renamed")
    result = site.inside("setup", "one", "--source", str(osu))
    if tool == "sh":
        assert (result.returncode, builds(site)) == (0, 1), result.stderr
        assert not (osu / "build.sh").exists()
    else:
        assert "it is a checkout, not a release; install no-such-tool to generate it" in result.stderr


def test_what_was_built_on_another_mpi_is_not_used(site: FakeSite, osu: Path) -> None:
    assert site.inside("setup", "one", "--source", str(osu)).returncode == 0
    file = site.stack("one") / STACK_FILE
    facts = json.loads(file.read_text())
    file.write_text(json.dumps({**facts, "version": "Fake MPI 2.0"}))
    assert site.inside("setup", "one", "--source", str(osu)).returncode == 0
    assert builds(site) == 2


def test_doctor_and_skips_name_programs_and_origin(site: FakeSite, osu: Path) -> None:
    assert site.inside("setup", "one", "--source", str(osu)).returncode == 0
    lines = site.inside("doctor", "--system", "fake").stdout.splitlines()
    missing = "no NPB of NASA (skipped; run: fabricbench setup one --source NPB)"
    assert f"; OSU 7.4 (source); {missing}" in lines[0]
    for name, package in (("IMB", "IMB"), ("OSU", "OSU"), ("NPB of NASA", "NPB"), ("GROMACS", "GROMACS")):
        assert f"; no {name} (skipped; run: fabricbench setup two --source {package})" in lines[1]


def test_the_example_of_the_document(site: FakeSite, tmp_path: Path) -> None:
    """The build description in docs/sources.md builds a tree that has the files that it names."""
    (site.root / "site/sources/npb.yaml").write_text(document("sources.md").code("compiler_flags:"))
    compilers = site.stack("one") / "prefix/bin"
    shutil.copy(compilers / "mpicc", compilers / "mpif90")
    tree = make_tree(tmp_path / "npb", "npb", "3.4.2")
    (tree / "src").mkdir()
    (tree / "configure").touch()
    (tree / "src/build.sh").write_text('cp ../settings.txt "$1.x"\n')
    result = site.inside("setup", "one", "--source", str(tree), "--option", "npb.classes=A B")
    assert result.returncode == 0, result.stderr
    folder = Path(installed(site).sources["npb"].prefix, "bin")
    assert sorted(path.name for path in folder.iterdir()) == ["A.x", "B.x"]
    assert (folder / "A.x").read_text().startswith(f"compiler={site.stack('one')}/prefix/bin/mpicc\nflags=-O3 -march=")


def test_an_installed_package_of_the_user(site: FakeSite, tmp_path: Path) -> None:
    """A folder with programs is entered as it is, on the stack whose MPI library its programs load."""
    folder = tmp_path / "installed/bin"
    folder.mkdir(parents=True)
    shutil.copy(os.path.realpath("/bin/sh"), folder / "osu_latency")
    result = site.inside("setup", "one", "--source", str(folder.parent))
    assert result.returncode == 2
    assert "OSU Micro-Benchmarks was not built with this stack: it loads no MPI library" in result.stderr


def test_a_source_tree_that_the_user_has_built_is_built_again(site: FakeSite, osu: Path) -> None:
    shutil.copy(os.path.realpath("/bin/sh"), osu / "osu_latency")
    assert site.inside("setup", "one", "--source", str(osu)).returncode == 0
    assert installed(site).sources["osu"].options == {"cflags": "-O3"}
