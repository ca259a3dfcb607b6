# SPDX-License-Identifier: Apache-2.0
"""Determines which launches of a campaign are finished, and which were lost and must be repeated."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from fabricbench.campaign.collect import collect
from fabricbench.campaign.write import has_completed
from fabricbench.files.layout import LAUNCHES
from fabricbench.files.reading import read_regular
from fabricbench.launch.lost import job_ended, why_lost

TRIES = 2
"""The number of times that a lost launch is started within its block."""


def loss_reason(directory: Path) -> str:
    """Returns why the launch in ``directory`` was lost although it has an end.

    Empty if it was not lost or has no end.
    """
    try:
        end = json.loads(read_regular(directory / "end"))
        if end["timed_out"] or (end["status"] != 0 and why_lost(directory)):
            record = collect(directory)
            return record.reason if record.state == "lost" else ""
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return ""


def finishing_attempt(attempts: Iterable[Path]) -> Path | None:
    """Returns the directory of the attempt that finishes a launch; None if the launch must be started (again).

    ``attempts`` holds all attempts in order. A launch is finished if it completed and was not lost, or if it was lost
    ``TRIES`` times. An attempt without an end was interrupted, and so was one whose job ended; neither finishes a
    launch, however often that happens.
    """
    ended = {directory: loss_reason(directory) for directory in attempts if (directory / "end").exists()}
    complete = [directory for directory, why in ended.items() if not why and has_completed(directory)]
    losses = [directory for directory, why in ended.items() if why and not job_ended(why)]
    return complete[-1] if complete else losses[-1] if len(losses) >= TRIES else None


def finished_launches(path: Path, block: int) -> dict[str, str]:
    """Returns the finished launches of the campaign at ``path``, from id to directory.

    They are those of ``block``, and every wire-up that succeeded.
    """
    attempts: dict[str, list[Path]] = {}
    for file in sorted((path / LAUNCHES).glob("*/*/*/*/*/launch.json")):
        try:
            launch = json.loads(read_regular(file))
            wireup = launch["mode"] == "wireup"
            if _succeeded(file.parent) if wireup else launch["block"] == block:
                attempts.setdefault(launch["id"], []).append(file.parent)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    finishing = {name: finishing_attempt(directories) for name, directories in attempts.items()}
    return {name: str(directory) for name, directory in finishing.items() if directory is not None}


def first_losses(path: Path, block: int, session: int) -> dict[str, str]:
    """Returns the launches that ``session`` lost and no other session of the block did, from id to reason.

    Wire-ups are included. Launches whose job ended are excluded, because the next allocation may be as short.
    """
    reasons: dict[str, str] = {}
    times: Counter[str] = Counter()
    for file in sorted((path / LAUNCHES).glob(f"b{block:03d}.s*/*/*/*/*/launch.json")):
        try:
            name = json.loads(read_regular(file))["id"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if (why := loss_reason(file.parent)) and not job_ended(why):
            times[name] += 1
            if file.parts[-6] == f"b{block:03d}.s{session:02d}":
                reasons[name] = why
    return {name: why for name, why in reasons.items() if times[name] == 1}


def _succeeded(directory: Path) -> bool:
    end = json.loads(read_regular(directory / "end"))
    return bool(end["status"] == 0 and not end["timed_out"])
