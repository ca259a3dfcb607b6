# SPDX-License-Identifier: Apache-2.0
"""Commands on campaigns with arbitrary files end in time, with a record's state or one line of error."""

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

import pytest

from fabricbench.campaign.attempts import finished_launches
from fabricbench.campaign.read import read_campaign
from fabricbench.errors import BadInput
from fabricbench.runner.campaign import _campaign_lock
from fabricbench.runner.progress import CampaignProgress
from support.command import inside
from support.hostile import ELSEWHERE, NOT_REGULAR, WRONG, files_of, make_campaign, mutate
from support.long_form import is_long

ROUNDS, SEEDS, ENOUGH_SECONDS = (40, 2, 15.0) if is_long() else (6, 1, 5.0)
"""Random changes of each seed, the number of seeds, and the time after which a seed has no further change."""
NOT_OK = ("Failed_0", "Gromacs_0")
"""Launches that are not ok for another reason."""
LIMIT_SECONDS = 60
"""Limit of one command on a busy machine; on an idle one it takes less than a second."""

COMMANDS = (
    ("table", "CAMPAIGN", "-f", "csv"),
    ("judge", "CAMPAIGN"),
    ("judge", "CAMPAIGN", "--propose"),
    ("judge", "CAMPAIGN", "--explain", "latency/openmpi@shm/8"),
    ("report", "CAMPAIGN", "-o", "PAGE"),
    ("nodes", "CAMPAIGN"),
    ("compare", "CAMPAIGN", "openmpi@shm", "mpich@tcp"),
    ("provenance", "CAMPAIGN"),
    ("provenance", "CAMPAIGN", "--reference", "OTHER"),
    ("record", "CAMPAIGN", "b000.s00/local/shm/openmpi/Micro_0"),
)


@contextmanager
def limited(what: str) -> Iterator[None]:
    """Fails if its body takes too long, also if it blocks in a system call."""

    def late(number: int, frame: object) -> None:
        raise AssertionError(f"{what} did not end within {LIMIT_SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def demand_sound(command: tuple[str, ...], campaign: Path, other: Path, what: str) -> str:
    """Runs a command and returns its line of error, or an empty text."""
    places = {"CAMPAIGN": str(campaign), "OTHER": str(other), "PAGE": str(campaign.parent / "page.html")}
    with limited(f"{command[0]}: {what}"):
        try:
            result = inside(*(places.get(word, word) for word in command))
        except Exception as error:
            raise AssertionError(f"{command[0]}: {what}: {type(error).__name__}") from error
    assert result.returncode in range(5), f"{command[0]}: {what}: {result}"
    if result.returncode == 2:
        assert result.stderr.count("\n") == 1, f"{command[0]}: {what}: {result.stderr}"
    return result.stderr


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_campaign(tmp_path_factory.mktemp("original") / "campaign")


@pytest.fixture
def campaign(original: Path, tmp_path: Path, cache_folder: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "campaign"))


def test_every_command_reads_the_campaign(campaign: Path) -> None:
    states = {record.directory.rpartition("/")[2]: record.state for record in read_campaign(campaign).records}
    assert states["WireUp_0"] == states["Micro_0"] == states["Imb_0"] == "ok"
    assert states["Failed_0"] == "failed"
    for command in COMMANDS:
        problem = demand_sound(command, campaign, campaign, "as it is")
        assert not problem or command[0] in ("nodes", "compare"), problem


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_file_ends_a_command_in_a_traceback(campaign: Path, original: Path, cache_folder: Path, seed: int) -> None:
    chance, began = random.Random(seed), time.monotonic()
    for _ in range(ROUNDS):
        shutil.rmtree(campaign)
        shutil.copytree(original, campaign)
        changes = []
        for _ in range(chance.choice((1, 1, 2, 4))):
            file = chance.choice(files_of(campaign))
            changes.append(f"{file}: {mutate(campaign / file, chance)}")
        for file in sorted(cache_folder.glob("*"))[: chance.choice((0, 0, 1))]:
            changes.append(f"cache: {mutate(file, chance)}")
        for command in COMMANDS:
            demand_sound(command, campaign, original, f"seed {seed}: {'; '.join(changes)}")
        if time.monotonic() - began > ENOUGH_SECONDS:
            break


def in_turn(original: Path) -> list[list[Path]]:
    """Returns the files of the campaign in groups that are damaged together.

    Each launch reads its own files, so a group has one file of every launch. Files that end a command are alone.
    """
    launches: dict[Path, list[Path]] = {}
    alone = []
    for file in files_of(original):
        if (original / file).with_name("launch.json").exists():
            launches.setdefault(file.parent, []).append(file)
        else:
            alone.append([file])
    return alone + [[file for file in group if file] for group in zip_longest(*launches.values())]


@pytest.mark.parametrize("kind", sorted(WRONG))
def test_every_file_in_turn(campaign: Path, original: Path, kind: str) -> None:
    for group in in_turn(original):
        for file in group:
            WRONG[kind](campaign / file)
        problem = demand_sound(("judge", "CAMPAIGN"), campaign, original, f"{group}: {kind}")
        for file in group if kind in NOT_REGULAR else ():
            if file.name not in ELSEWHERE and file.parent.name not in NOT_OK:
                assert "regular file" in problem or names_it(campaign, file, "regular file"), f"{file}: {problem}"
        shutil.rmtree(campaign)
        shutil.copytree(original, campaign)


def names_it(campaign: Path, file: Path, what: str) -> bool:
    """Whether the launch's record reports the error of a file. Files that a record does not need have no errors."""
    if file.name in ("stderr", "md.log", "reference.json", "stdout"):
        return True
    places = [
        (record.directory, record.reason) for record in read_campaign(campaign).records if record.state == "unreadable"
    ]
    return any(str(file.parent).endswith(place) and file.name in reason and what in reason for place, reason in places)


@pytest.mark.parametrize("kind", sorted(NOT_REGULAR))
def test_run_rejects_a_path_that_is_not_a_regular_file(campaign: Path, original: Path, kind: str) -> None:
    for file in files_of(original):
        NOT_REGULAR[kind](campaign / file)
    with limited(kind):
        assert finished_launches(campaign, 0) == {}
        with pytest.raises(OSError, match="not a regular file"):
            CampaignProgress(campaign / "run.log", 1, 1)
        with pytest.raises(BadInput, match=r"lock: cannot be written: .*not a regular file"), _campaign_lock(campaign):
            pass


def test_directories_nested_deeply(campaign: Path) -> None:
    make = "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\nopen('skipped.json', 'w').close()"
    subprocess.run([sys.executable, "-c", make], cwd=campaign / "launches", check=True)
    try:
        for command in COMMANDS[:2]:
            demand_sound(command, campaign, campaign, "1500 directories")
    finally:
        subprocess.run(["rm", "-rf", str(campaign / "launches/d")], check=True)  # pytest's own way is recursive
