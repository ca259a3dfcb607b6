# SPDX-License-Identifier: Apache-2.0
"""Reads from the profile of a launch what its record does not contain: the time in MPI of each rank."""

from pathlib import Path

from fabricbench.files.layout import LAUNCHES
from fabricbench.launch.record import Record
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.files import read_profile, size_of_profile
from fabricbench.parsers.tau.rows import RankShares, rank_shares

MOST_BYTES = 16 << 20
"""Profiles beyond this size are not read again; reading takes about a second for this many bytes."""


def read_rank_shares(path: Path, record: Record) -> RankShares | None:
    """Returns the shares by rank of a launch of the campaign at ``path``; None without a readable profile."""
    directory = path / LAUNCHES / record.directory
    if record.launch is None or size_of_profile(directory) > MOST_BYTES:
        return None
    try:
        return rank_shares(read_profile(directory, record.launch.ranks))
    except Unreadable:
        return None
