# SPDX-License-Identifier: Apache-2.0
"""A session: one run of ReFrame, which fills one block of a campaign. It is read from environment variables."""

import os
import random
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.layout import LAUNCHES
from fabricbench.site.settings import REPOSITORY, build_root, no_blanks

CAMPAIGN = "FABRICBENCH_CAMPAIGN"
BLOCK = "FABRICBENCH_BLOCK"
SESSION = "FABRICBENCH_SESSION"
SEED = "FABRICBENCH_SEED"
LANES = "FABRICBENCH_LANES"
LOCK = "FABRICBENCH_LOCK"
WITHOUT = "FABRICBENCH_WITHOUT"
"""Variable with the names of nodes that launches do not use, with blanks between."""
SCALES = "FABRICBENCH_SCALES"
"""Variable with the scales that replace those of the tiers, ``4x8 16x1``."""
SWITCHES = "FABRICBENCH_SWITCHES"
"""Variable with the switches of the nodes, ``leaf1=n[1-4] leaf2=n[5-8]``, for launches on nodes near or far."""
ALLOCATION = "FABRICBENCH_ALLOCATION"
"""Variable that is set if ReFrame runs inside an allocation; the scheduler of every fabric is then local."""
FORECAST = "FABRICBENCH_FORECAST"
"""Variable that is set if a dry run of ReFrame shall write the facts of its launches and skips."""


@dataclass(frozen=True, slots=True)
class Session:
    """One run of ReFrame. It fills one block of a campaign, or the part of the block that is missing.

    ``without``: the names of nodes that were taken out of the campaign.
    """

    campaign: str
    block: int
    session: int
    seed: int
    lanes: tuple[str, ...]
    without: tuple[str, ...] = ()

    @property
    def stage(self) -> str:
        """ReFrame's stage directory: that of the session's launches."""
        return f"{self.campaign}/{LAUNCHES}/b{self.block:03d}.s{self.session:02d}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables from which ``session`` reads this session again."""
        return {
            CAMPAIGN: self.campaign,
            BLOCK: str(self.block),
            SESSION: str(self.session),
            SEED: str(self.seed),
            LANES: " ".join(self.lanes),
            WITHOUT: " ".join(self.without),
        }


@cache
def session() -> Session:
    """Returns the session of this process, read from the environment.

    Without a number it is the next session of the campaign; without a campaign it is the only block of a new one. The
    first call seeds Python's random numbers, from which ReFrame's ``--exec-order=random`` takes the order of the block.
    Raises BadInput for a variable that is not a number.
    """
    campaign = os.environ.get(CAMPAIGN)
    block = _whole(BLOCK)
    number = _whole(SESSION) if SESSION in os.environ or not campaign else next_session(Path(campaign), block)
    seed = _whole(SEED)
    lanes = tuple(os.environ.get(LANES, "").split())
    random.seed(seed * 1_000_003 + block * 1009 + number)
    if not campaign:
        stamp = f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        campaign = str(build_root() / "dry-run" if "--dry-run" in sys.argv else REPOSITORY / "campaigns" / stamp)
    path = Path(campaign).resolve()
    no_blanks(path)
    return Session(str(path), block, number, seed, lanes, tuple(os.environ.get(WITHOUT, "").split()))


def next_session(campaign: Path, block: int) -> int:
    """Returns the number of the next session of a block, above that of every session with a directory."""
    numbers = [path.suffix[2:] for path in (campaign / LAUNCHES).glob(f"b{block:03d}.s*")]
    return max((int(text) + 1 for text in numbers if text.isascii() and text.isdigit()), default=0)


def lock_file() -> str:
    """Returns the file that one launch at a time locks: ``FABRICBENCH_LOCK``, or the same for all users."""
    return os.environ.get(LOCK) or "/tmp/fabricbench.lock"


def _whole(name: str) -> int:
    text = os.environ.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadInput(f"{name} is '{text[:40]}'", where="environment", expected="a whole number")
    return int(text)
