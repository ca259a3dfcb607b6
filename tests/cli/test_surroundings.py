# SPDX-License-Identifier: Apache-2.0
"""Commands with an unusual user, shell, path or ReFrame."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import reframe as installed_reframe

from fabricbench.campaign.cache import CACHE
from fabricbench.errors import BadInput
from fabricbench.launch.session import Session
from fabricbench.runner import reframe
from fabricbench.runner.progress import CampaignProgress
from fabricbench.runner.session import Start, run_session
from fabricbench.site.settings import no_blanks
from support import fake_site
from support.command import inside
from support.fake_site import REPOSITORY, FakeSite
from support.hostile import make_campaign
from support.processes import clean_environment
from support.running import CHOICE

BAD_PATHS = ["a b", "a'b", 'a"b', "a$b", "a;b", "a\\b", "a[b", "a]b", "a:b", "a\tb", "a(b"]
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
NO_CACHE = {CACHE: "", "XDG_CACHE_HOME": ""}
NOBODY = (
    *("setpriv", "--reuid=12345", "--clear-groups", "--inh-caps=+dac_read_search,+dac_override"),
    *("--ambient-caps=+dac_read_search,+dac_override", "env", "-u", "HOME", "-u", "USER", "-u", "LOGNAME"),
)
"""Runs a command as a user without home directory and passwd entry, who may read and write all files."""


def fabricbench(
    *arguments: str, before: tuple[str, ...] = (), extra: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command in a new process."""
    return subprocess.run(
        [*before, sys.executable, "-m", "fabricbench.cli", *arguments],
        env={**clean_environment(), **(extra or {})},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return make_campaign(tmp_path / "campaign")


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A campaign on a file system that is mounted read-only."""
    if os.geteuid() != 0:
        pytest.skip("needs root: a file system is mounted read-only")
    mount = tmp_path / "fixed"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(mount)], check=True)
    try:
        (mount / "local").mkdir()
        campaign = make_campaign(mount / "campaign")
        subprocess.run(["mount", "-o", "remount,ro", str(mount)], check=True)
        yield campaign
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_read_only_campaign_is_read(read_only: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE, str(read_only.parent / "cache"))  # a cache on a read-only file system
    for command in ("table", "judge", "provenance"):
        result = inside(command, str(read_only))
        assert (result.returncode in (0, 3, 4), result.stderr) == (True, "")
    result = inside("report", str(read_only))
    where = read_only / "report.html"
    expected = f"fabricbench: {where}: cannot be written: Read-only file system; name another file: --output FILE\n"
    assert (result.returncode, result.stderr) == (2, expected)
    page = tmp_path / "page.html"
    assert inside("report", str(read_only), "--output", str(page)).returncode == 0
    assert "openmpi@shm" in page.read_text()


@pytest.mark.parametrize("name", BAD_PATHS)
def test_make_rejects_a_clone_in_a_path_with_special_characters(tmp_path: Path, name: str) -> None:
    clone = tmp_path / name
    (clone / "site/local").mkdir(parents=True)
    for file in ("Makefile", "pyproject.toml", "site/local/venv.sh"):
        shutil.copy(REPOSITORY / file, clone / file)
    argv = ["make", "--no-print-directory", "-s", "setup", "PYTHON=false"]
    # Within `make test` this make would call itself make[1].
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    result = subprocess.run(argv, cwd=clone, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    line, make = result.stderr.splitlines()
    assert line.startswith("fabricbench: this checkout is in '")
    assert "without blanks, quotes and special characters" in line
    assert make.startswith("make: ***")
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("name", BAD_PATHS)
def test_setup_rejects_such_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("FABRICBENCH_BUILD", str(tmp_path / name))
    result = inside("setup", "impi")
    assert result.returncode == 2
    assert "the path of the build directory" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["plain", "with-dash_and.dot", "x~y", "é", "a+b=c,d@e%f"])
def test_other_paths_are_accepted(tmp_path: Path, name: str) -> None:
    no_blanks(tmp_path / name)


@pytest.fixture
def everyones() -> Iterator[Path]:
    """A directory that every user can write to; pytest's directories are private."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def nobody() -> tuple[str, ...]:
    """The prefix that runs a command as a user without home directory and passwd entry."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    return NOBODY


@pytest.mark.parametrize(
    "arguments", [("table",), ("judge",), ("provenance",), ("report", "-o", "PAGE"), ("record", "b000.s00/local/x")]
)
def test_a_user_without_home_and_name(everyones: Path, nobody: tuple[str, ...], arguments: tuple[str, ...]) -> None:
    campaign = str(make_campaign(everyones / "campaign"))
    command, *options = [str(everyones / "page.html") if word == "PAGE" else word for word in arguments]
    result = fabricbench(command, campaign, *options, before=nobody, extra=NO_CACHE)
    (everyones / "page.html").unlink(missing_ok=True)
    usual = inside(command, campaign, *options)
    assert (result.returncode, result.stdout, result.stderr) == (usual.returncode, usual.stdout, usual.stderr)


def test_a_user_without_home_and_name_runs_a_campaign(everyones: Path, nobody: tuple[str, ...]) -> None:
    site = fake_site.make(everyones)
    argv = [*nobody, sys.executable, "-m", "fabricbench.cli", "run", str(site.root / "campaign"), *CHOICE]
    result = site.call([*argv, "--budget", "0"], **NO_CACHE)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("command", ["table", "judge", "record", "run"])
def test_an_ascii_terminal(campaign: Path, command: str) -> None:
    directory = campaign / "launches/b000.s00/local/tcp/mpich/Imb_0"
    text = (directory / "launch.json").read_text().replace('"stack": "mpich"', '"stack": "mpïch…"')
    (directory / "launch.json").write_text(text)
    arguments = {"record": ("b000.s00/local/tcp/mpich/Imb_0",), "run": ("--system", "nüll")}.get(command, ())
    result = fabricbench(command, str(campaign), *arguments, extra=ASCII)
    assert result.returncode in (0, 2, 3, 4), result.stderr
    assert "Traceback" not in result.stderr
    assert command == "run" or "mp\\xefch\\u2026" in result.stdout


def test_a_campaign_from_an_ascii_terminal(site: FakeSite) -> None:
    result = site.fabricbench("run", str(site.root / "campaign"), *CHOICE, "--budget", "0", "--report", **ASCII)
    assert result.returncode == 0, result.stdout + result.stderr


def test_warnings_of_libraries_do_not_end_a_command(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "polars.py").write_text(
        "import importlib, sys, warnings\n"
        "warnings.warn('a library that warns when it is imported', DeprecationWarning)\n"
        "sys.path.remove(__file__.rpartition('/')[0])\n"
        "del sys.modules['polars']\n"
        "sys.modules['polars'] = importlib.import_module('polars')\n"
    )
    extra = {"PYTHONWARNINGS": "error", "PYTHONPATH": str(tmp_path)}
    result = fabricbench("table", str(campaign), extra=extra)
    assert result.returncode == 0, result.stderr
    assert "b000.s00/local/tcp/mpich/Imb_0" in result.stdout


def start_of(campaign: Path) -> Start:
    return Start(Session(str(campaign), 0, 0, 0, ()), "fake", (), "", None)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "session-000.00.log: cannot be written: No space left on"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/x/srun"), "/x/srun: ReFrame could not be st"),
    ],
)
def test_why_a_session_did_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, message: str
) -> None:
    def fail(*arguments: object) -> reframe.Outcome:
        raise error

    monkeypatch.setattr(reframe, "run", fail)
    monkeypatch.setattr(Start, "environment", lambda self: {})
    with (
        CampaignProgress(tmp_path / "run.log", 1, 1) as progress,
        pytest.raises(BadInput, match=message.replace(".", r"\.")) as raised,
    ):
        run_session(start_of(tmp_path), progress)
    assert "None" not in str(raised.value)


@pytest.mark.parametrize("name", ["session-000.00.json", "session-000.00.log"])
def test_a_fifo_in_place_of_a_sessions_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(Start, "environment", lambda self: {})
    (tmp_path / "reframe").mkdir()
    os.mkfifo(tmp_path / "reframe" / name)
    with CampaignProgress(tmp_path / "run.log", 1, 1) as progress, pytest.raises((BadInput, OSError), match="regular"):
        run_session(start_of(tmp_path), progress)


def plain(*options: str) -> list[str]:
    """A ReFrame without this project's environment."""
    packages = str(Path(installed_reframe.__file__).parents[1])
    code = (
        f"import sys; sys.path.insert(0, {packages!r}); sys.argv = ['reframe', '-c', 'reframe_checks', *{options!r}]\n"
        "from reframe.frontend.cli import main; sys.exit(main())"
    )
    return [getattr(sys, "_base_executable", sys.executable), "-c", code]


def own(*options: str) -> list[str]:
    """The environment's ReFrame, called by its path without env.sh."""
    return [str(Path(sys.executable).with_name("reframe")), "-c", "reframe_checks", *options]


@pytest.mark.parametrize(
    ("command", "problem"),
    [(plain, "has no package fabricbench"), (own, "the system 'generic' of ReFrame's configuration has no fabrics")],
)
@pytest.mark.parametrize(("options", "build"), [(("-r",), ""), (("-L",), "/another/build")])
def test_a_reframe_that_does_not_know_the_environment(
    tmp_path: Path, command: Callable[..., list[str]], problem: str, options: tuple[str, ...], build: str
) -> None:
    environment = {key: value for key, value in clean_environment().items() if not key.startswith("PYTHON")}
    environment |= {"TMPDIR": str(tmp_path), **({"FABRICBENCH_BUILD": build} if build else {})}
    argv = command(*options)
    result = subprocess.run(
        argv, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert problem in result.stderr
    assert f"{build or REPOSITORY / 'build'}/env.sh, and start reframe again" in result.stderr
    assert "skipping test file" not in result.stdout


def test_nothing_is_left_in_the_checkout_and_the_temporary_directory(site: FakeSite) -> None:
    temporary = site.root / "temporary"
    temporary.mkdir()
    before = set(REPOSITORY.iterdir())
    extra = {"TMPDIR": str(temporary)}
    for options in (("-L",), ("--dry-run",), ("-r",)):
        campaign = {"FABRICBENCH_CAMPAIGN": str(site.root / "campaign")}
        result = site.reframe("-c", "reframe_checks", "-n", "^MicroPingpong", *options, **extra, **campaign)
        assert result.returncode == 0, result.stdout + result.stderr
    result = site.fabricbench("run", str(site.root / "other"), *CHOICE, "--budget", "0", **extra)
    assert result.returncode == 0, result.stdout + result.stderr
    assert list(temporary.iterdir()) == []
    remains = {path.name for path in set(REPOSITORY.iterdir()) - before}
    assert not {name for name in remains if name.endswith((".o", ".log", ".out")) or name in ("perflogs", "output")}
