# SPDX-License-Identifier: Apache-2.0
"""``fabricbench setup --target``: what the NAS kernels are built for."""

import platform
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fabricbench.cli import app
from fabricbench.errors import BadInput
from fabricbench.setup import stacks
from fabricbench.setup.target import chosen_target
from fabricbench.site.stacks import STACK_FILE, Installed, SourceBuild, read_installed
from fabricbench.site.targets import LEVELS, Target, processor_flags
from setup.toy_stacks import LIBRARY, MPI
from support.fake_site import FakeSite

is_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the levels are those of x86-64")


def installed(tmp_path: Path) -> Installed:
    record = read_installed(tmp_path / "build/stacks/mine" / STACK_FILE)
    assert record is not None
    return record


@is_x86
@pytest.mark.parametrize("name", LEVELS)
def test_the_compiler_uses_the_instructions_of_a_level(name: str) -> None:
    assert chosen_target(name) == Target(name=name, instructions=tuple(sorted(LEVELS[name])))


def test_native_needs_nothing_that_this_machine_lacks() -> None:
    assert chosen_target("native").lacking(processor_flags()) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x86-64-v9", "does not know the processor 'x86-64-v9'; expected x86-64-v"),
        ("-O3", "--target: '-O3'; expected native, x86-64"),
        ("a b", "--target: 'a b'; expected native"),
    ],
)
@is_x86
def test_a_name_that_the_compiler_does_not_accept(name: str, expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        chosen_target(name)


def test_a_machine_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chosen_target("native") == Target(name="native")
    with pytest.raises(BadInput, match="no C compiler that knows 'x86-64-v3'; install gcc"):
        chosen_target("x86-64-v3")


@is_x86
@pytest.mark.usefixtures("system_commands")
def test_another_target_builds_again_and_is_kept(builds: list[str], tmp_path: Path) -> None:
    def set_up(target: str = "") -> list[str]:
        builds.clear()
        assert stacks.set_up([MPI, LIBRARY], lambda line: None, target=target) == []
        return sorted(builds)

    assert set_up() == ["lib", "mine"]
    assert installed(tmp_path).target == chosen_target("native")
    assert set_up(target="x86-64-v2") == ["mine"]
    assert installed(tmp_path).target == chosen_target("x86-64-v2")
    assert (set_up(), set_up(target="x86-64-v2")) == ([], [])
    with pytest.raises(BadInput, match="x86-64-v9"):
        set_up(target="x86-64-v9")
    assert set_up() == []
    assert set_up(target="native") == ["mine"]


@is_x86
@pytest.mark.usefixtures("builds", "system_commands")
def test_a_package_from_a_source_that_was_built_for_another_target_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = Target(name="native", instructions=LEVELS["x86-64-v2"])
    npb = SourceBuild(package="npb", version="3.4.3", prefix="/p", origin="/NPB3.4.3", target=earlier)
    monkeypatch.setattr(
        stacks, "with_sources", lambda record, stack, home: record.model_copy(update={"sources": {"npb": npb}})
    )
    lines: list[str] = []
    stacks.set_up([MPI], lines.append, target="x86-64-v3")
    expected = "npb on mine was built for native (x86-64-v2); to build it anew, run: fabricbench setup mine --source"
    assert any(line.startswith(expected) for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "x86-64-v3", "--source", "x"], "--target is not for --source"),
        (["--target", "x86-64-v3", "--spack", "views"], "--target is not for Spack's stacks"),
        (["--target", ""], "--target is empty; expected native"),
    ],
)
def test_wrong_use(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["setup", *arguments])
    assert isinstance(result.exception, BadInput), result.output
    assert message in str(result.exception)


@is_x86
def test_an_unknown_target_ends_the_command_with_one_line(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "install_packages", lambda *arguments, **options: None)
    result = site.inside("setup", "one", "--target", "x86-64-v9")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "does not know the processor 'x86-64-v9'; expected x86-64-v" in result.stderr
