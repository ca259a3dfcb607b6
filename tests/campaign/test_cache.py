# SPDX-License-Identifier: Apache-2.0
"""The cache of records changes no result, whatever it contains. No file in a campaign supplies a record."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricbench.campaign import cache, collect, digest
from fabricbench.campaign import read as reading
from fabricbench.campaign.read import read_campaign
from fabricbench.campaign.write import create
from fabricbench.launch.record import Campaign, Record

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
PLACE = "b000.s00/local/tcp/mpich/Imb_0"
FORGED = "from the cache"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Three launches."""
    path = tmp_path / "quick-1"
    create(path, site=tmp_path / "local", tier="quick", seed=3)
    places = {
        "mpich-tcp-wireup": "b000.s00/local/tcp/mpich/WireUp_0",
        "mpich-tcp-imb-pt2pt-small": PLACE,
        "openmpi-shm-micro-pingpong-small": "b000.s00/local/shm/openmpi/Micro_0",
    }
    for name, place in places.items():
        shutil.copytree(LAUNCHES / name, path / "launches" / place)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the cache, which does not exist yet."""
    monkeypatch.setenv(cache.CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of launches whose records were derived from facts, one entry per derivation."""
    names: list[str] = []

    def collect_counted(directory: Path, name: str) -> Record:
        names.append(name)
        return collect.collect(directory, name)

    monkeypatch.setattr(reading, "collect", collect_counted)
    return names


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def forge(folder: Path) -> None:
    """Replaces every record in the cache by one that contradicts the facts, with valid checksums."""
    name = only_file(folder).stem
    entries = {}
    for key, text in cache.read_entries(name).items():
        record = Record.model_validate_json(text).model_copy(update={"reason": FORGED})
        entries[key] = record.model_dump_json().encode()
    cache.write_entries(name, entries)


def reasons(campaign: Campaign) -> set[str]:
    return {record.reason for record in campaign.records}


def test_a_second_reading_derives_nothing(campaign: Path, folder: Path, derived: list[str]) -> None:
    first = read_campaign(campaign)
    assert len(derived) == 3
    assert read_campaign(campaign) == first
    assert len(derived) == 3
    assert (folder.stat().st_mode & 0o777, only_file(folder).stat().st_mode & 0o777) == (0o700, 0o600)


def test_nothing_is_written_into_the_campaign(campaign: Path, folder: Path) -> None:
    before = sorted(campaign.rglob("*"))
    read_campaign(campaign)
    assert sorted(campaign.rglob("*")) == before
    assert folder.is_dir()


def test_a_record_in_a_campaign_is_ignored(campaign: Path, folder: Path) -> None:
    before = read_campaign(campaign, recompute=True)
    for record in before.records:
        directory = campaign / "launches" / record.directory
        forged = record.model_copy(update={"reason": FORGED}).model_dump(mode="json")
        (directory / "record.json").write_text(json.dumps({"digest": digest.digest(directory), "record": forged}))
    shutil.rmtree(folder)
    assert read_campaign(campaign) == before
    assert read_campaign(campaign) == before


@pytest.mark.parametrize("name", ["launch.json", "begin", "end", "stdout", "stderr", "witness.vm.0.json", "host.vm"])
def test_a_changed_fact_renews_the_record(campaign: Path, folder: Path, name: str) -> None:
    read_campaign(campaign)
    forge(folder)
    assert reasons(read_campaign(campaign)) == {FORGED}  # the records come from the cache
    with (campaign / "launches" / PLACE / name).open("ab") as stream:
        stream.write(b"\n")
    assert {r.directory: r.reason for r in read_campaign(campaign).records}[PLACE] == ""


@pytest.mark.parametrize("name", ["witness.other.0.json", "host.other"])
def test_a_new_fact_renews_the_record(campaign: Path, folder: Path, name: str) -> None:
    read_campaign(campaign)
    forge(folder)
    shutil.copy(campaign / "launches" / PLACE / "host.vm", campaign / "launches" / PLACE / name)
    assert {r.directory: r.reason for r in read_campaign(campaign).records}[PLACE] != FORGED


def test_a_fact_that_moves_to_another_name_is_a_change(campaign: Path) -> None:
    directory = campaign / "launches" / PLACE
    before = digest.digest(directory)
    (directory / "witness.vm.1.json").rename(directory / "witness.vm.2.json")
    assert digest.digest(directory) != before


def test_the_end_of_a_very_large_output_is_a_fact(campaign: Path) -> None:
    directory = campaign / "launches" / PLACE
    (directory / "end").write_text(json.dumps(json.loads((directory / "end").read_text()) | {"status": 1}))
    results = set()
    for last in ("first reason", "other reason"):
        with (directory / "stderr").open("wb") as stream:
            stream.seek(1 << 30)
            stream.write(f"\n{last}\n".encode())
        results.add((digest.digest(directory), collect.collect(directory).reason))
    assert len({key for key, _ in results}) == 2
    assert {reason for _, reason in results} == {"exit status 1: first reason", "exit status 1: other reason"}


def test_the_cache_returns_every_capture_unchanged(tmp_path: Path, folder: Path, derived: list[str]) -> None:
    path = tmp_path / "all"
    create(path, site=tmp_path / "local", tier="single", seed=0)
    for capture in LAUNCHES.iterdir():
        shutil.copytree(capture, path / "launches/b000.s00/local" / capture.name)
    first = read_campaign(path)
    count = len(derived)
    assert count == len(list(LAUNCHES.iterdir()))
    assert read_campaign(path).model_dump_json() == first.model_dump_json()
    assert len(derived) == count


def test_a_copied_campaign_uses_the_same_records(
    campaign: Path, folder: Path, tmp_path: Path, derived: list[str]
) -> None:
    read_campaign(campaign)
    copy = Path(shutil.copytree(campaign, tmp_path / "elsewhere/copy"))
    (copy / "launches" / PLACE).rename(copy / "launches" / (PLACE + "-moved"))
    places = {record.directory for record in read_campaign(copy).records}
    assert PLACE + "-moved" in places
    assert len(derived) == 3


def test_other_code_derives_records_once_and_caches_them(
    campaign: Path, folder: Path, derived: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_campaign(campaign)
    for module in (digest, reading):
        monkeypatch.setattr(module, "code_digest", lambda: b"other code")
    for _ in range(3):
        read_campaign(campaign)
    assert len(derived) == 6


def test_recompute_derives_all_and_renews_the_cache(campaign: Path, folder: Path, derived: list[str]) -> None:
    before = read_campaign(campaign)
    forge(folder)
    assert reasons(read_campaign(campaign)) == {FORGED}
    assert read_campaign(campaign, recompute=True) == before
    assert len(derived) == 6
    assert read_campaign(campaign) == before
    assert len(derived) == 6


def test_one_more_launch_is_one_more_entry(campaign: Path, folder: Path, derived: list[str]) -> None:
    read_campaign(campaign)
    shutil.copytree(LAUNCHES / "mpich-tcp-imb-pt2pt-large", campaign / "launches/b001.s00/local/tcp/mpich/Imb_0")
    read_campaign(campaign)
    assert len(derived) == 4
    assert only_file(folder).read_bytes().count(b"\n") == 4
    shutil.rmtree(campaign / "launches/b001.s00")
    read_campaign(campaign)
    assert only_file(folder).read_bytes().count(b"\n") == 3


def test_a_launch_that_changes_during_reading_is_not_cached(
    campaign: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collect_late(directory: Path, name: str) -> Record:
        if name == PLACE:
            with (directory / "stderr").open("a") as stream:
                stream.write("more\n")
        return collect.collect(directory, name)

    monkeypatch.setattr(reading, "collect", collect_late)
    read_campaign(campaign)
    assert only_file(folder).read_bytes().count(b"\n") == 2


def test_flipped_bits_and_cut_files_change_nothing(campaign: Path, folder: Path) -> None:
    before = read_campaign(campaign)
    file = only_file(folder)
    whole, chance = file.read_bytes(), random.Random(7)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 5))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        assert read_campaign(campaign) == before
    assert file.read_bytes() == whole  # renewed


def test_entries_under_each_others_keys_are_ignored(campaign: Path, folder: Path) -> None:
    before = read_campaign(campaign)
    file = only_file(folder)
    rows = [line.split(b" ", 1) for line in file.read_bytes().splitlines()]
    keys = [key for key, _ in rows]
    file.write_bytes(
        b"".join(key + b" " + rest + b"\n" for key, (_, rest) in zip(keys[1:] + keys[:1], rows, strict=True))
    )
    assert read_campaign(campaign) == before


def entries_of_wrong_content() -> list[bytes]:
    return [b"", b"{}", b"[]", b"null", b"5", b"[" * 100_000, b"\xff", b'{"state": "splendid"}']


@pytest.mark.parametrize("text", entries_of_wrong_content())
def test_entries_without_a_valid_record_are_ignored(campaign: Path, folder: Path, text: bytes) -> None:
    before = read_campaign(campaign)
    name = only_file(folder).stem
    cache.write_entries(name, dict.fromkeys(cache.read_entries(name), text))
    assert read_campaign(campaign) == before


def as_link(file: Path) -> None:
    file.rename(file.with_name("real"))
    file.symlink_to("real")


def as_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def as_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def as_sparse(file: Path) -> None:
    with file.open("ab") as stream:
        stream.truncate(1 << 40)


@pytest.mark.parametrize("change", [as_link, as_fifo, as_directory, as_sparse, lambda file: file.chmod(0o622)])
def test_a_cache_file_of_another_kind_or_mode_is_not_used(
    campaign: Path, folder: Path, change: Callable[[Path], None]
) -> None:
    before = read_campaign(campaign)
    forge(folder)
    change(only_file(folder))
    assert read_campaign(campaign) == before


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_directory_that_others_can_write_to_is_not_used(campaign: Path, folder: Path, mode: int) -> None:
    before = read_campaign(campaign)
    forge(folder)
    folder.chmod(mode)
    assert read_campaign(campaign) == before


def test_a_directory_of_another_user_is_not_used(campaign: Path, folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    before = read_campaign(campaign)
    forge(folder)
    os.chown(folder, 12345, 12345)
    assert read_campaign(campaign) == before


def test_a_link_in_place_of_the_directory_is_not_used(campaign: Path, folder: Path) -> None:
    before = read_campaign(campaign)
    forge(folder)
    folder.rename(folder.with_name("real"))
    folder.symlink_to("real")
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
    assert cache.cache_root() == (None if root is None else Path(root))


def test_a_user_without_home_and_entry_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (cache.CACHE, "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1_999_999_999)
    assert cache.cache_root() is None
    assert cache.read_entries("0" * 64) == {}


def test_only_old_files_are_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [character * 64 for character in "abcd"]
    for name in names:
        cache.write_entries(name, {"0" * 64: b"x" * 100})
    (folder / "notes.txt").write_text("mine")
    leftover = folder / f"{names[0]}.records.0123456789abcdef"
    leftover.write_text("of a command that was killed")
    for path in (folder / "notes.txt", leftover, folder / f"{names[1]}.records"):
        os.utime(path, (0, 0))
    cache.write_entries(names[0], {"0" * 64: b"y"})
    assert sorted(path.name for path in folder.iterdir()) == [f"{names[i]}.records" for i in (0, 2, 3)] + ["notes.txt"]
    os.utime(folder / f"{names[3]}.records", (2**31 - 1, 2**31 - 1))
    monkeypatch.setattr(cache, "LARGEST_BYTES", 500)
    cache.write_entries(names[0], {"0" * 64: b"z"})
    assert sorted(path.name for path in folder.iterdir()) == [f"{names[i]}.records" for i in (0, 3)] + ["notes.txt"]


def test_a_file_in_use_is_not_old(folder: Path) -> None:
    cache.write_entries("a" * 64, {"0" * 64: b"x"})
    os.utime(only_file(folder), (0, 0))
    assert cache.read_entries("a" * 64) == {"0" * 64: b"x"}
    assert only_file(folder).stat().st_mtime > 1e9


def test_commands_at_once_agree_and_leave_a_whole_file(campaign: Path, folder: Path) -> None:
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
    assert only_file(folder).read_bytes().count(b"\n") == 3
    assert len(cache.read_entries(only_file(folder).stem)) == 3
