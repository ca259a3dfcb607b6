# SPDX-License-Identifier: Apache-2.0
"""Only files and directories that no other user can write are used as the cache of records; old ones are removed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from campaign.cached_campaign import forge, only_file
from fabricbench.campaign import cache
from fabricbench.campaign.read import read_campaign
from support.hostile import as_sparse


def as_link(file: Path) -> None:
    file.rename(file.with_name("real"))
    file.symlink_to("real")


def as_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def as_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("change", [as_link, as_fifo, as_directory, as_sparse, lambda file: file.chmod(0o622)])
def test_a_cache_file_of_another_kind_or_mode_is_not_used(
    campaign: Path, cache_folder: Path, change: Callable[[Path], None]
) -> None:
    before = read_campaign(campaign)
    forge(cache_folder)
    change(only_file(cache_folder))
    assert read_campaign(campaign) == before


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_directory_that_others_can_write_to_is_not_used(campaign: Path, cache_folder: Path, mode: int) -> None:
    before = read_campaign(campaign)
    forge(cache_folder)
    cache_folder.chmod(mode)
    assert read_campaign(campaign) == before


def test_a_directory_of_another_user_is_not_used(campaign: Path, cache_folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    before = read_campaign(campaign)
    forge(cache_folder)
    os.chown(cache_folder, 12345, 12345)
    assert read_campaign(campaign) == before


def test_a_link_in_place_of_the_directory_is_not_used(campaign: Path, cache_folder: Path) -> None:
    before = read_campaign(campaign)
    forge(cache_folder)
    cache_folder.rename(cache_folder.with_name("real"))
    cache_folder.symlink_to("real")
    assert read_campaign(campaign) == before


@pytest.mark.parametrize("place", ["/dev/null", "/proc/nothing/here", "/dev/null/x", "relative/to/nothing"])
def test_without_a_directory_everything_is_derived(
    campaign: Path, derived: list[str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv(cache.CACHE, place)
    assert read_campaign(campaign) == read_campaign(campaign)
    assert len(derived) == 6


@pytest.mark.parametrize(
    ("variables", "root"),
    [
        ({cache.CACHE: "/a/b", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/fabricbench"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/fabricbench"),
        ({"HOME": "/h"}, "/h/.cache/fabricbench"),
        ({"HOME": "relative"}, None),
    ],
)
def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], root: str | None) -> None:
    for name in (cache.CACHE, "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache.record_cache_root() == (None if root is None else Path(root))


def test_a_user_without_home_and_entry_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (cache.CACHE, "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1_999_999_999)
    assert cache.record_cache_root() is None
    assert cache.read_entries("0" * 64) == {}


def test_only_old_files_are_removed(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [character * 64 for character in "abcd"]
    for name in names:
        cache.write_entries(name, {"0" * 64: b"x" * 100})
    (cache_folder / "notes.txt").write_text("mine")
    leftover = cache_folder / f"{names[0]}.records.0123456789abcdef"
    leftover.write_text("of a command that was killed")
    for path in (cache_folder / "notes.txt", leftover, cache_folder / f"{names[1]}.records"):
        os.utime(path, (0, 0))
    cache.write_entries(names[0], {"0" * 64: b"y"})
    assert sorted(path.name for path in cache_folder.iterdir()) == [f"{names[i]}.records" for i in (0, 2, 3)] + [
        "notes.txt"
    ]
    os.utime(cache_folder / f"{names[3]}.records", (2**31 - 1, 2**31 - 1))
    monkeypatch.setattr(cache, "LARGEST_BYTES", 500)
    cache.write_entries(names[0], {"0" * 64: b"z"})
    assert sorted(path.name for path in cache_folder.iterdir()) == [f"{names[i]}.records" for i in (0, 3)] + [
        "notes.txt"
    ]


def test_a_file_in_use_is_not_old(cache_folder: Path) -> None:
    cache.write_entries("a" * 64, {"0" * 64: b"x"})
    os.utime(only_file(cache_folder), (0, 0))
    assert cache.read_entries("a" * 64) == {"0" * 64: b"x"}
    assert only_file(cache_folder).stat().st_mtime > 1e9


def test_commands_at_once_agree_and_leave_a_whole_file(campaign: Path, cache_folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from fabricbench.campaign.read import read_campaign\n"
        "print({read_campaign(Path(sys.argv[1]), recompute=n % 2 == 0).model_dump_json() for n in range(10)})\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(campaign)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outputs = {process.communicate(timeout=120)[0] for process in running}
    assert outputs == {f"{ {read_campaign(campaign, recompute=True).model_dump_json()} }\n"}
    assert only_file(cache_folder).read_bytes().count(b"\n") == 3
    assert len(cache.read_entries(only_file(cache_folder).stem)) == 3
