# SPDX-License-Identifier: Apache-2.0
"""Reads campaigns: the order of launches, skips, and foreign files in the directory."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from fabricbench.campaign.attempts import finished_launches
from fabricbench.campaign.read import read_campaign, read_facts
from fabricbench.campaign.write import create, has_completed, open_single
from fabricbench.errors import BadInput
from fabricbench.launch.table import table
from support.launches import LAUNCHES, SKIPPED, add_launch, add_skip, change


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Three launches of block 0 and one of block 1."""
    path = tmp_path / "quick-1"
    create(path, site=tmp_path / "local", tier="quick", seed=3)
    add_launch(path, "mpich-tcp-wireup", "b000.s00/local/tcp/mpich/WireUp_0")
    add_launch(path, "mpich-tcp-imb-pt2pt-small", "b000.s00/local/tcp/mpich/Imb_0")
    add_launch(path, "openmpi-shm-micro-pingpong-small", "b000.s00/local/shm/openmpi/Micro_0")
    add_launch(path, "mpich-tcp-imb-collectives-small", "b001.s00/local/tcp/mpich/Imb_0", block=1)
    return path


def places(campaign: Path) -> list[str]:
    return [record.directory for record in read_campaign(campaign).records]


def test_a_campaign_has_its_facts_records_and_skips(campaign: Path) -> None:
    result = read_campaign(campaign)
    assert (result.name, result.facts.tier, result.facts.looks, result.facts.seed) == ("quick-1", "quick", (6,), 3)
    assert {record.state for record in result.records} == {"ok"}
    assert places(campaign) == [
        "b000.s00/local/tcp/mpich/WireUp_0",
        "b000.s00/local/shm/openmpi/Micro_0",
        "b000.s00/local/tcp/mpich/Imb_0",
        "b001.s00/local/tcp/mpich/Imb_0",
    ]
    assert result.skips == ()


def test_order_is_that_of_blocks_then_of_starts(campaign: Path) -> None:
    change(campaign / "launches/b000.s00/local/tcp/mpich/Imb_0/begin", time=1.0)
    assert places(campaign)[0] == "b000.s00/local/tcp/mpich/Imb_0"
    change(campaign / "launches/b001.s00/local/tcp/mpich/Imb_0/begin", time=0.5)
    assert places(campaign)[-1] == "b001.s00/local/tcp/mpich/Imb_0"


def test_launches_that_cannot_be_read_come_last(campaign: Path) -> None:
    (campaign / "launches/b000.s00/local/shm/openmpi/Micro_0/launch.json").write_text("{")
    alone = campaign / "launches/a"
    alone.mkdir()
    shutil.copy(LAUNCHES / "mpich-tcp-wireup/begin", alone)
    result = read_campaign(campaign)
    assert [record.directory for record in result.records[-2:]] == ["a", "b000.s00/local/shm/openmpi/Micro_0"]
    assert [record.state for record in result.records] == ["ok", "ok", "ok", "unreadable", "unreadable"]


def test_foreign_files_are_not_launches(campaign: Path) -> None:
    before = read_campaign(campaign)
    launches = campaign / "launches"
    (launches / "notes.txt").write_text("launch.json")
    (launches / "b000.s00/.DS_Store").write_bytes(b"\0")
    (launches / "empty/deep/er").mkdir(parents=True)
    (launches / "b000.s00/local/tcp/mpich/Imb_0/profile").mkdir()
    (launches / "b000.s00/local/tcp/mpich/Imb_0/profile/launch.json").write_text("{}")
    (launches / "b000.s00/local/tcp/mpich/Imb_0/core.123").write_bytes(b"\x7fELF")
    (launches / "loop").symlink_to(launches)
    (launches / "nowhere").symlink_to("/nonexistent")
    assert read_campaign(campaign) == before


def test_a_directory_whose_name_is_not_utf_8(campaign: Path) -> None:
    place = os.fsdecode(b"b002.s00/\xff\xfe/x")
    add_launch(campaign, "mpich-tcp-imb-pt2pt-small", place, block=2)
    record = read_campaign(campaign).records[-1]
    assert (record.directory, record.state) == ("b002.s00/\ufffd\ufffd/x", "ok")
    table(read_campaign(campaign).records).write_csv()
    record.model_dump_json()


def test_hostile_names_are_data(campaign: Path) -> None:
    place = "b002.s00/<img src=x onerror=alert(1)>/$(touch x);`id`/\x1b[31m'\"\n"
    add_launch(campaign, "mpich-tcp-imb-pt2pt-small", place, block=2, stack="<b>&amp;\x1b[0m")
    assert places(campaign)[-1] == place
    frame = table(read_campaign(campaign).records)
    assert place in set(frame["launch"])
    assert "<b>&amp;\x1b[0m" in set(frame["stack"])


def test_no_launches_at_all(campaign: Path) -> None:
    shutil.rmtree(campaign / "launches")
    assert read_campaign(campaign).records == ()


def test_a_directory_without_a_campaign_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no campaign here; expected a directory with campaign\.json"):
        read_campaign(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"\x00"])
def test_facts_that_are_not_json(campaign: Path, content: bytes) -> None:
    (campaign / "campaign.json").write_bytes(content)
    with pytest.raises(BadInput, match=r"campaign\.json: not JSON"):
        read_facts(campaign)


@pytest.mark.parametrize(
    "values",
    [
        *({"tier": "hasty"}, {"schema_version": 2}, {"new": 1}, {"alpha": float("nan")}, {"seed": None}),
        *({"looks": [0]}, {"looks": [-1]}, {"looks": [10**6]}, {"looks": list(range(6, 3000))}),
        *({"alpha": 0.0}, {"alpha": 2.0}),
    ],
)
def test_facts_that_are_wrong_name_the_key(campaign: Path, values: dict[str, Any]) -> None:
    change(campaign / "campaign.json", **values)
    with pytest.raises(BadInput, match=rf"campaign\.json: {next(iter(values))}[.:]"):
        read_facts(campaign)


def test_facts_that_are_a_directory(campaign: Path) -> None:
    (campaign / "campaign.json").unlink()
    (campaign / "campaign.json").mkdir()
    with pytest.raises(BadInput, match="cannot be read"):
        read_facts(campaign)


def test_skips_are_named_once_and_in_order(campaign: Path) -> None:
    add_skip(campaign, "b000.s00/local/tcp/openmpi/Imb_0")
    add_skip(campaign, "b001.s00/local/tcp/openmpi/Imb_0", block=1, reason="still no IMB")
    add_skip(campaign, "b000.s00/local/tcp/openmpi/Imb_1", messages="large")
    add_skip(campaign, "b000.s00/local/shm/impi/Imb_0", stack="impi", fabric="shm")
    damaged = campaign / "launches/b000.s00/local/shm/impi/Imb_1"
    for number, content in enumerate([b"{", b"[" * 100_000, b"{}", json.dumps(SKIPPED | {"new": 1}).encode()]):
        (damaged / str(number)).mkdir(parents=True)
        (damaged / str(number) / "skipped.json").write_bytes(content)
    skips = read_campaign(campaign).skips
    assert [(skip.lane, skip.messages, skip.reason) for skip in skips] == [
        ("impi@shm", "small", "no IMB"),
        ("openmpi@tcp", "large", "no IMB"),
        ("openmpi@tcp", "small", "no IMB"),
    ]


def test_a_copied_campaign_gives_the_same_table_byte_for_byte(campaign: Path, tmp_path: Path) -> None:
    add_launch(campaign, "lying-openmpi-shm-micro-pingpong-large", "b001.s00/local/shm/openmpi/Micro_1", block=1)
    add_launch(campaign, "failed-openmpi-tcp-time-limit", "b001.s00/local/tcp/openmpi/Micro_1", block=1)
    original = table(read_campaign(campaign).records).write_csv()
    copy = Path(shutil.copytree(campaign, tmp_path / "far/away"))
    assert table(read_campaign(copy).records).write_csv() == original
    assert table(read_campaign(campaign).records).write_csv() == original
    assert original.count("\n") == 1 + 117 + 35 + 123 + 36 + 35


def test_launches_refuted_by_their_times_stay_refuted_with_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "campaign"
    create(path, site=tmp_path / "local", tier="single", seed=0)
    add_launch(path, "lying-impi-tcp-imb-collectives-large", "b000.s00/local/tcp/impi/Imb_0")
    for _ in range(2):
        assert [record.state for record in read_campaign(path).records] == ["ok"]
    add_launch(path, "lying-impi-tcp-micro-pingpong-small", "b000.s00/local/tcp/impi/Micro_0")
    assert sorted(record.state for record in read_campaign(path).records) == ["ok", "refuted"]


def test_a_campaign_is_created_once(tmp_path: Path) -> None:
    site = tmp_path / "mine"
    site.mkdir()
    (site / "requirements.yaml").write_text("schema: 1\n")
    open_single(tmp_path / "c", site, 1)
    open_single(tmp_path / "c", site, 2)
    facts = read_facts(tmp_path / "c")
    assert (facts.system, facts.tier, facts.looks, facts.seed) == ("mine", "single", (1,), 1)
    assert (tmp_path / "c/requirements.yaml").read_text() == "schema: 1\n"


def test_a_campaign_in_an_unsuitable_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be created"):
        create(tmp_path / "file/c", site=tmp_path, tier="quick", seed=0)


def test_finished_launches_are_not_repeated(campaign: Path) -> None:
    add_launch(campaign, "failed-openmpi-tcp-wrong-answer", "b001.s00/local/tcp/openmpi/Micro_1", block=1, id="failed")
    never = add_launch(
        campaign, "mpich-tcp-imb-pt2pt-large", "b001.s00/local/tcp/mpich/Imb_1", block=1, id="never back"
    )
    (never / "end").unlink()
    for place, content in (("x", b"{"), ("y", b"[" * 100_000), ("z", b"[]")):
        damaged = campaign / "launches/b001.s00/local/tcp" / place / "Imb"
        damaged.mkdir(parents=True)
        (damaged / "launch.json").write_bytes(content)
    failed_wireup = add_launch(
        campaign, "mpich-tcp-wireup", "b001.s00/local/shm/mpich/WireUp_1", block=1, id="failed wire-up"
    )
    change(failed_wireup / "end", status=1)
    finished = finished_launches(campaign, 1)
    wireup = campaign / "launches/b000.s00/local/tcp/mpich/WireUp_0"
    assert finished == {
        "failed": str(campaign / "launches/b001.s00/local/tcp/openmpi/Micro_1"),
        json.loads((wireup / "launch.json").read_text())["id"]: str(wireup),
        "b000 mpich@tcp imb collectives small np=2": str(campaign / "launches/b001.s00/local/tcp/mpich/Imb_0"),
    }


@pytest.mark.parametrize(
    ("end", "back"),
    [
        (b'{"status": 0}', True),
        (b'{"status": 1}', True),
        (b'{"status": null}', True),
        (b'{"status": 126}', False),
        (b'{"status": 127}', False),
        (b"{}", False),
        (b"[]", False),
        (b"{", False),
        (b"[" * 100_000, False),
        (b"\xff", False),
    ],
)
def test_only_a_valid_end_means_that_a_launch_ended(tmp_path: Path, end: bytes, back: bool) -> None:
    assert not has_completed(tmp_path)
    (tmp_path / "end").write_bytes(end)
    assert has_completed(tmp_path) == back
