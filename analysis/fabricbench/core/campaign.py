# SPDX-License-Identifier: Apache-2.0
"""Writing a campaign: its facts, its launches' facts, always whole or not at all."""

import json
import os
import time
from pathlib import Path
from typing import Any

from fabricbench.core.errors import BadInput
from fabricbench.core.record import CampaignFacts

FACTS = "campaign.json"
LAUNCHES = "launches"

LOOKS = {"single": (1,), "quick": (6,), "standard": (8, 15, 30), "acceptance": (8, 15, 30)}
"""Numbers of blocks after which a tier looks at its data: decided before the first launch."""


def write_json(file: Path, value: Any) -> None:
    """Write ``value`` as JSON to ``file``, atomically; BadInput where the place cannot take it."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with temporary.open("w") as stream:
            json.dump(value, stream, indent=1, sort_keys=True)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise BadInput(
            f"cannot be written: {error.strerror}", where=str(file), cure="nothing is lost: make room and run again"
        ) from None


def create(path: Path, *, system: str, tier: str, seed: int, version: str) -> CampaignFacts:
    """Make the campaign directory ``path``; its facts are never changed afterwards."""
    facts = CampaignFacts.model_validate(
        {"system": system, "tier": tier, "looks": LOOKS[tier], "seed": seed, "created": time.time(), "version": version}
    )
    try:
        (path / LAUNCHES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot be made: {error.strerror}", where=str(path)) from None
    write_json(path / FACTS, facts.model_dump(mode="json"))
    return facts


def open_single(path: Path, system: str, tier: str, seed: int, version: str = "") -> None:
    """Make the campaign of a plain ``reframe -r``, unless it is there already."""
    if not (path / FACTS).exists():
        create(path, system=system, tier=tier or "single", seed=seed, version=version)


def finished_launches(path: Path, block: int) -> dict[str, str]:
    """Launches that came back, from id to directory: those of ``block``, and every wire-up that succeeded."""
    found = {}
    for file in sorted((path / LAUNCHES).glob("*/*/*/*/*/launch.json")):
        try:
            launch = json.loads(file.read_bytes())
            end = json.loads((file.parent / "end").read_bytes())
            if launch["mode"] == "wireup":
                counts = end["status"] == 0 and not end["timed_out"]
            else:
                counts = launch["block"] == block
            if counts:
                found[launch["id"]] = str(file.parent)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found
