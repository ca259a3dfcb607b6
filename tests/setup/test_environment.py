# SPDX-License-Identifier: Apache-2.0
"""``env.sh`` exports its build directory and its directory of systems, and keeps those that a user has set."""

import subprocess
from pathlib import Path

import pytest

from fabricbench.setup.environment import write_environment
from fabricbench.site.settings import BUILD, REPOSITORY, SITES
from support.processes import clean_environment


def after_sourcing(*steps: Path | str, **variables: str) -> dict[str, str]:
    """The environment of a shell that has sourced the files and executed the commands, in their order."""
    commands = [step if isinstance(step, str) else f". '{step}'" for step in steps]
    script = "; ".join(["set -eu", *commands, "env -0"])
    environment = clean_environment() | variables
    result = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in result.stdout.split("\0") if line)


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The ``env.sh`` of two build directories, each with its own directory of systems."""
    files = []
    for name in ("first", "second"):
        root = tmp_path / name
        settings = root / "site/mine/settings.py"
        settings.parent.mkdir(parents=True)
        settings.touch()
        monkeypatch.setenv(SITES, str(root / "site"))
        files.append(write_environment(root))
    return files


def places(environment: dict[str, str]) -> tuple[str | None, str | None]:
    """The build directory and the directory of systems; that of ReFrame's configuration is the same."""
    sites = environment.get(SITES)
    assert environment["RFM_CONFIG_FILES"].startswith(sites or str(REPOSITORY / "site"))
    return environment.get(BUILD), sites


def test_the_last_env_sh_decides(two: list[Path]) -> None:
    for files in ([two[0]], [two[1]], two, two[::-1], [*two, two[1]]):
        root = files[-1].parent
        assert places(after_sourcing(*files)) == (str(root), str(root / "site"))


def test_the_value_of_a_user_is_kept(two: list[Path], tmp_path: Path) -> None:
    sites = str(tmp_path / "first/site")
    chosen = {BUILD: "/of/the/user", SITES: sites}
    assert places(after_sourcing(two[1], two[1], **chosen)) == ("/of/the/user", sites)
    assert places(after_sourcing(two[0], f"{BUILD}=/of/the/user", two[1]))[0] == "/of/the/user"
    assert places(after_sourcing(two[0], f"{BUILD}=", two[1]))[0] == str(two[1].parent)


def test_the_default_is_not_exported(two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that has sourced it can set up another checkout."""
    monkeypatch.delenv(SITES)
    monkeypatch.setattr("fabricbench.setup.environment.REPOSITORY", tmp_path)
    monkeypatch.setattr("fabricbench.site.settings.REPOSITORY", tmp_path)
    (tmp_path / "site/local").mkdir(parents=True)
    (tmp_path / "site/local/settings.py").touch()
    (tmp_path / "build").mkdir()
    environment = after_sourcing(two[0], write_environment(tmp_path / "build"))
    assert BUILD not in environment
    assert SITES not in environment
    assert environment["RFM_CONFIG_FILES"] == str(tmp_path / "site/local/settings.py")
