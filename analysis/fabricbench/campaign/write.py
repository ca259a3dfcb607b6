# SPDX-License-Identifier: Apache-2.0
"""Writes the files of a campaign, each completely or not at all."""

import json
import os
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.layout import FACTS, LAUNCHES, PLANNED, REQUIREMENTS
from fabricbench.files.reading import read_regular
from fabricbench.files.writing import write_json
from fabricbench.launch.case import Case
from fabricbench.launch.facts import CANNOT_START
from fabricbench.launch.lost import why_lost
from fabricbench.launch.record import CampaignFacts

LOOKS = {"single": (1,), "quick": (6,), "standard": (8, 15, 30), "acceptance": (8, 15, 30)}
"""Numbers of blocks after which a campaign of each tier is tested; fixed before the first launch."""


def create(
    path: Path,
    *,
    site: Path,
    tier: str,
    seed: int,
    lanes: tuple[str, ...] = (),
    checks: tuple[str, ...] = (),
    variables: tuple[str, ...] = (),
    injected: tuple[str, ...] = (),
    scales: tuple[str, ...] = (),
) -> CampaignFacts:
    """Creates the campaign directory ``path`` for the system whose folder is ``site``, and returns its facts.

    The facts never change afterwards. The site's requirements are copied, so that a copy of the campaign gives the same
    verdicts.
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
                "injected": injected,
                "scales": scales,
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
        raise BadInput(f"cannot be created: {error.strerror}", where=str(path)) from None
    write_json(path / FACTS, facts.model_dump(mode="json"))
    return facts


def write_planned(path: Path, cases: Iterable[Case]) -> None:
    """Adds the test cases of a block to the list of the campaign at ``path``."""
    write_json(path / PLANNED, {"cases": sorted({*read_planned(path), *cases})})


def read_planned(path: Path) -> tuple[Case, ...]:
    """Returns the test cases that the campaign lists; empty if it was recorded without a list."""
    file = path / PLANNED
    try:
        return tuple(Case(*map(str, words)) for words in json.loads(read_regular(file))["cases"])
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(file)) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInput(
            "not a list of test cases", where=str(file), expected='{"cases": [[check, fabric, stack]]}'
        ) from None


def open_single(path: Path, site: Path, seed: int) -> None:
    """Creates the campaign of a plain ``reframe -r``, unless it exists."""
    if not os.path.lexists(path / FACTS):
        create(path, site=site, tier="single", seed=seed)


def has_completed(directory: Path) -> bool:
    """Returns whether the launch in ``directory`` completed, with any exit status of its command.

    False if it has no end, if its command could not be started, or if it was lost with its nodes.
    """
    try:
        end = json.loads(read_regular(directory / "end"))
        return end["status"] not in CANNOT_START and (end["status"] == 0 or not why_lost(directory))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
