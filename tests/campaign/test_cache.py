# SPDX-License-Identifier: Apache-2.0
"""The cache of records changes no result, whatever it contains. No file in a campaign supplies a record."""

import json
import random
import shutil
from pathlib import Path

import pytest

from campaign.cached_campaign import FORGED, LAUNCHES, PLACE, forge, only_file
from fabricbench.campaign import cache, collect, digest
from fabricbench.campaign import read as reading
from fabricbench.campaign.read import read_campaign
from fabricbench.campaign.write import create
from fabricbench.launch.record import Campaign, Record


def reasons(campaign: Campaign) -> set[str]:
    return {record.reason for record in campaign.records}


def test_a_second_reading_derives_nothing(campaign: Path, cache_folder: Path, derived: list[str]) -> None:
    first = read_campaign(campaign)
    assert len(derived) == 3
    assert read_campaign(campaign) == first
    assert len(derived) == 3
    assert (cache_folder.stat().st_mode & 0o777, only_file(cache_folder).stat().st_mode & 0o777) == (0o700, 0o600)


def test_nothing_is_written_into_the_campaign(campaign: Path, cache_folder: Path) -> None:
    before = sorted(campaign.rglob("*"))
    read_campaign(campaign)
    assert sorted(campaign.rglob("*")) == before
    assert cache_folder.is_dir()


def test_a_record_in_a_campaign_is_ignored(campaign: Path, cache_folder: Path) -> None:
    before = read_campaign(campaign, recompute=True)
    for record in before.records:
        directory = campaign / "launches" / record.directory
        forged = record.model_copy(update={"reason": FORGED}).model_dump(mode="json")
        (directory / "record.json").write_text(json.dumps({"digest": digest.digest(directory), "record": forged}))
    shutil.rmtree(cache_folder)
    assert read_campaign(campaign) == before
    assert read_campaign(campaign) == before


@pytest.mark.parametrize("name", ["launch.json", "begin", "end", "stdout", "stderr", "witness.vm.0.json", "host.vm"])
def test_a_changed_fact_renews_the_record(campaign: Path, cache_folder: Path, name: str) -> None:
    read_campaign(campaign)
    forge(cache_folder)
    assert reasons(read_campaign(campaign)) == {FORGED}  # the records come from the cache
    with (campaign / "launches" / PLACE / name).open("ab") as stream:
        stream.write(b"\n")
    assert {r.directory: r.reason for r in read_campaign(campaign).records}[PLACE] == ""


@pytest.mark.parametrize("name", ["witness.other.0.json", "host.other"])
def test_a_new_fact_renews_the_record(campaign: Path, cache_folder: Path, name: str) -> None:
    read_campaign(campaign)
    forge(cache_folder)
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


def test_the_cache_returns_every_capture_unchanged(tmp_path: Path, cache_folder: Path, derived: list[str]) -> None:
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
    campaign: Path, cache_folder: Path, tmp_path: Path, derived: list[str]
) -> None:
    read_campaign(campaign)
    copy = Path(shutil.copytree(campaign, tmp_path / "elsewhere/copy"))
    (copy / "launches" / PLACE).rename(copy / "launches" / (PLACE + "-moved"))
    places = {record.directory for record in read_campaign(copy).records}
    assert PLACE + "-moved" in places
    assert len(derived) == 3


def test_other_code_derives_records_once_and_caches_them(
    campaign: Path, cache_folder: Path, derived: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_campaign(campaign)
    for module in (digest, reading):
        monkeypatch.setattr(module, "code_digest", lambda: b"other code")
    for _ in range(3):
        read_campaign(campaign)
    assert len(derived) == 6


def test_recompute_derives_all_and_renews_the_cache(campaign: Path, cache_folder: Path, derived: list[str]) -> None:
    before = read_campaign(campaign)
    forge(cache_folder)
    assert reasons(read_campaign(campaign)) == {FORGED}
    assert read_campaign(campaign, recompute=True) == before
    assert len(derived) == 6
    assert read_campaign(campaign) == before
    assert len(derived) == 6


def test_one_more_launch_is_one_more_entry(campaign: Path, cache_folder: Path, derived: list[str]) -> None:
    read_campaign(campaign)
    shutil.copytree(LAUNCHES / "mpich-tcp-imb-pt2pt-large", campaign / "launches/b001.s00/local/tcp/mpich/Imb_0")
    read_campaign(campaign)
    assert len(derived) == 4
    assert only_file(cache_folder).read_bytes().count(b"\n") == 4
    shutil.rmtree(campaign / "launches/b001.s00")
    read_campaign(campaign)
    assert only_file(cache_folder).read_bytes().count(b"\n") == 3


def test_a_launch_that_changes_during_reading_is_not_cached(
    campaign: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collect_late(directory: Path, name: str) -> Record:
        if name == PLACE:
            with (directory / "stderr").open("a") as stream:
                stream.write("more\n")
        return collect.collect(directory, name)

    monkeypatch.setattr(reading, "collect", collect_late)
    read_campaign(campaign)
    assert only_file(cache_folder).read_bytes().count(b"\n") == 2


def test_flipped_bits_and_cut_files_change_nothing(campaign: Path, cache_folder: Path) -> None:
    before = read_campaign(campaign)
    file = only_file(cache_folder)
    whole, chance = file.read_bytes(), random.Random(7)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 5))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        assert read_campaign(campaign) == before
    assert file.read_bytes() == whole  # renewed


def test_entries_under_each_others_keys_are_ignored(campaign: Path, cache_folder: Path) -> None:
    before = read_campaign(campaign)
    file = only_file(cache_folder)
    rows = [line.split(b" ", 1) for line in file.read_bytes().splitlines()]
    keys = [key for key, _ in rows]
    file.write_bytes(
        b"".join(key + b" " + rest + b"\n" for key, (_, rest) in zip(keys[1:] + keys[:1], rows, strict=True))
    )
    assert read_campaign(campaign) == before


def entries_of_wrong_content() -> list[bytes]:
    return [b"", b"{}", b"[]", b"null", b"5", b"[" * 100_000, b"\xff", b'{"state": "splendid"}']


@pytest.mark.parametrize("text", entries_of_wrong_content())
def test_entries_without_a_valid_record_are_ignored(campaign: Path, cache_folder: Path, text: bytes) -> None:
    before = read_campaign(campaign)
    name = only_file(cache_folder).stem
    cache.write_entries(name, dict.fromkeys(cache.read_entries(name), text))
    assert read_campaign(campaign) == before
