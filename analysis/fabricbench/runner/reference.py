# SPDX-License-Identifier: Apache-2.0
"""Times of the launches of an earlier campaign, which a forecast expects again."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from fabricbench.campaign.read import read_campaign
from fabricbench.errors import BadInput
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Record

Kind = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class ReferenceTimes:
    """Times of an earlier campaign: median seconds of each kind of launch, and between two launches."""

    seconds: Mapping[Kind, float]
    between: float = 0.0

    def of(self, launch: Launch) -> float | None:
        """The median of this kind of launch on the same lane and ranks, else on any lane, else on any ranks."""
        return next((self.seconds[kind] for kind in _kinds(launch) if kind in self.seconds), None)


def read_reference(path: Path) -> ReferenceTimes:
    """The median times of the campaign at ``path``; raises BadInput if none of its launches completed."""
    came = [record for record in read_campaign(path).records if record.launch and record.seconds is not None]
    if not came:
        raise BadInput("none of its launches completed", where=str(path), expected="a campaign with measured times")
    seconds: dict[Kind, list[float]] = defaultdict(list)
    sessions: dict[str, list[Record]] = defaultdict(list)
    for record in came:
        assert record.launch is not None
        assert record.seconds is not None
        sessions[record.directory.partition("/")[0]].append(record)
        for kind in _kinds(record.launch):
            seconds[kind].append(record.seconds)
    skips = [skip for records in sessions.values() for skip in _between(records)]
    medians = {kind: statistics.median(values) for kind, values in seconds.items()}
    return ReferenceTimes(medians, statistics.median(skips) if skips else 0.0)


def _kinds(launch: Launch) -> tuple[Kind, ...]:
    """The kinds of a launch, from the narrowest to the widest."""
    kind = (launch.tool, launch.benchmark, launch.messages)
    return (*kind, launch.ranks, launch.lane), (*kind, launch.ranks), kind


def _between(records: Iterable[Record]) -> list[float]:
    """The seconds between the end of each launch and the begin of the next one in its session."""
    times = sorted((r.begin, r.begin + r.seconds) for r in records if r.begin is not None and r.seconds is not None)
    return [max(0.0, later[0] - earlier[1]) for earlier, later in pairwise(times)]
