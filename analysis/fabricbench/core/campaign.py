# SPDX-License-Identifier: Apache-2.0
"""Writing a campaign: its facts, its launches' facts, always whole or not at all."""

import contextlib
import json
import os
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fabricbench.core.errors import BadInput
from fabricbench.core.lost import why_lost
from fabricbench.core.reading import read_regular
from fabricbench.core.record import CampaignFacts

FACTS = "campaign.json"
LAUNCHES = "launches"
REQUIREMENTS = "requirements.yaml"

CANNOT_START = (126, 127)
"""Exit statuses of a command that was not found or cannot be executed."""

LOOKS = {"single": (1,), "quick": (6,), "standard": (8, 15, 30), "acceptance": (8, 15, 30)}
"""Numbers of blocks after which a tier looks at its data: decided before the first launch."""


def write_json(file: Path, value: Any) -> None:
    """Write ``value`` as JSON to ``file``, atomically; BadInput where the place cannot take it."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("x", encoding="utf-8") as stream:
            json.dump(value, stream, indent=1, sort_keys=True)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise BadInput(
            f"cannot be written: {error.strerror}",
            where=str(file),
            cure="nothing is lost: make room and run again",
        ) from None


def create(
    path: Path,
    *,
    site: Path,
    tier: str,
    seed: int,
    lanes: tuple[str, ...] = (),
    checks: tuple[str, ...] = (),
    variables: tuple[str, ...] = (),
) -> CampaignFacts:
    """Make the campaign directory ``path`` for the system whose folder is ``site``.

    Its facts are never changed afterwards; the site's requirements come along, so that a copy of the campaign
    judges as the original does.
    """
    facts = CampaignFacts.model_validate(
        {
            **{
                "system": site.name,
                "tier": tier,
                "looks": LOOKS[tier],
                "seed": seed,
                "lanes": lanes,
                "checks": checks,
                "variables": variables,
            },
            **{"created": time.time(), "version": version("fabricbench")},
        }
    )
    try:
        (path / LAUNCHES).mkdir(parents=True, exist_ok=True)
        if (site / REQUIREMENTS).exists():
            text = (site / REQUIREMENTS).read_bytes()
            (path / REQUIREMENTS).unlink(missing_ok=True)
            with (path / REQUIREMENTS).open("xb") as stream:
                stream.write(text)
    except OSError as error:
        raise BadInput(f"cannot be made: {error.strerror}", where=str(path)) from None
    write_json(path / FACTS, facts.model_dump(mode="json"))
    return facts


def open_single(path: Path, site: Path, seed: int) -> None:
    """Make the campaign of a plain ``reframe -r``, unless it is there already."""
    if not os.path.lexists(path / FACTS):
        create(path, site=site, tier="single", seed=seed)


def came_back(directory: Path) -> bool:
    """Whether the launch in ``directory`` came back. One whose command could not even be started did not, nor one
    that was lost with its nodes."""
    try:
        end = json.loads(read_regular(directory / "end"))
        return end["status"] not in CANNOT_START and (end["status"] == 0 or not why_lost(directory))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def finished_launches(path: Path, block: int) -> dict[str, str]:
    """Launches that came back, from id to directory: those of ``block``, and every wire-up that succeeded."""
    found = {}
    for file in sorted((path / LAUNCHES).glob("*/*/*/*/*/launch.json")):
        try:
            launch = json.loads(read_regular(file))
            wireup = launch["mode"] == "wireup"
            if came_back(file.parent) and (_succeeded(file.parent) if wireup else launch["block"] == block):
                found[launch["id"]] = str(file.parent)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return found


def _succeeded(directory: Path) -> bool:
    end = json.loads(read_regular(directory / "end"))
    return end["status"] == 0 and not end["timed_out"]
