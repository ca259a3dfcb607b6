# SPDX-License-Identifier: Apache-2.0
"""Reads the operations of a profiled launch, and the cost of its profiler."""

from pathlib import Path

from fabricbench.campaign.profiles import MOST_BYTES
from fabricbench.files.layout import LAUNCHES
from fabricbench.launch.record import Record
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.files import read_profile, size_of_profile
from fabricbench.parsers.tau.model import IN_REGION, Profile, ThreadProfile, Timer
from fabricbench.parsers.tau.operations import Operations, RankOperations


def read_operations(path: Path, record: Record) -> tuple[RankOperations, ...] | str:
    """Returns the operations by rank of a launch of the campaign at ``path``, or the reason why there are none."""
    directory = path / LAUNCHES / record.directory
    if record.launch is None:
        return "the launch cannot be read"
    size = size_of_profile(directory)
    if size > MOST_BYTES:
        return f"the profile has {size / 1e6:.0f} MB, more than {MOST_BYTES / 1e6:.0f} MB"
    try:
        return _operations_of(read_profile(directory, record.launch.ranks))
    except Unreadable as error:
        return str(error)


_ENDS = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")


def _operations_of(profile: Profile) -> tuple[RankOperations, ...]:
    """TEMPORARY: replaced by parsers.tau.operations.operations_of."""
    ranks = []
    for threads in profile.by_rank():
        main = threads[0]
        region = main.region
        seconds = region.inclusive if region else main.total - sum(t.inclusive for t in main.mpi() if t.call in _ENDS)

        def in_mpi(thread: ThreadProfile) -> list[Timer]:
            timers = thread.in_region() if thread.region else thread.by_all()
            return [t for t in timers if t.call not in _ENDS]

        thread = max(threads, key=lambda one: sum(t.exclusive for t in in_mpi(one)))
        operations = []
        for timer in in_mpi(thread):
            params = dict(timer.params)
            sizes = timer.sizes
            operations.append(
                Operations(
                    call=timer.call,
                    operation=params.get("operation", timer.call),
                    bytes=None if sizes is None else sum(sizes) / 2,
                    peer=params.get("peer", ""),
                    comm_size=int(params["communicator size"]) if "communicator size" in params else None,
                    root=params.get("role") == "root",
                    count=timer.calls,
                    calls=timer.calls,
                    seconds=timer.exclusive,
                )
            )
        assert IN_REGION
        ranks.append(RankOperations(main.rank, seconds, 0.0, tuple(operations)))
    return tuple(ranks)
