# SPDX-License-Identifier: Apache-2.0
"""Reads the operations of a profiled launch, and the cost of its profiler."""

from pathlib import Path

from fabricbench.campaign.profiles import MOST_BYTES
from fabricbench.files.layout import LAUNCHES
from fabricbench.launch.record import Record
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.files import read_profile, size_of_profile
from fabricbench.parsers.tau.operations import RankOperations
from fabricbench.parsers.tau.timed_operations import operations_of


def read_operations(path: Path, record: Record) -> tuple[RankOperations, ...] | str:
    """Returns the operations by rank of a launch of the campaign at ``path``, or the reason why there are none."""
    directory = path / LAUNCHES / record.directory
    if record.launch is None:
        return "the launch cannot be read"
    size = size_of_profile(directory)
    if size > MOST_BYTES:
        return f"the profile has {size / 1e6:.0f} MB, more than {MOST_BYTES / 1e6:.0f} MB"
    try:
        return operations_of(read_profile(directory, record.launch.ranks))
    except Unreadable as error:
        return str(error)
