# SPDX-License-Identifier: Apache-2.0
"""A campaign and the cache of its records in a directory of the test."""

import shutil
from pathlib import Path

import pytest

from fabricbench.campaign import cache, collect
from fabricbench.campaign import read as reading
from fabricbench.campaign.write import create
from fabricbench.launch.record import Record

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
def derived(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of launches whose records were derived from facts, one entry per derivation."""
    names: list[str] = []

    def collect_counted(directory: Path, name: str) -> Record:
        names.append(name)
        return collect.collect(directory, name)

    monkeypatch.setattr(reading, "collect", collect_counted)
    return names


def only_file(cache_folder: Path) -> Path:
    (file,) = cache_folder.iterdir()
    return file


def forge(cache_folder: Path) -> None:
    """Replaces every record in the cache by one that contradicts the facts, with valid checksums."""
    name = only_file(cache_folder).stem
    entries = {}
    for key, text in cache.read_entries(name).items():
        record = Record.model_validate_json(text).model_copy(update={"reason": FORGED})
        entries[key] = record.model_dump_json().encode()
    cache.write_entries(name, entries)
