# SPDX-License-Identifier: Apache-2.0
"""The lanes of a campaign whose times are no measurements, as their site declares (``Fabric.function_only``)."""

from collections.abc import Iterable

from fabricbench.launch.record import Record
from fabricbench.site.lane import LaneName


def lane_names(records: Iterable[Record]) -> list[LaneName]:
    """Returns the lanes of the records, in order."""
    return sorted({LaneName.of(record.launch.lane) for record in records if record.launch})


def function_only_lanes(records: Iterable[Record]) -> dict[LaneName, str]:
    """Returns the reason by lane for each lane whose times are no measurements, in order."""
    launches = [record.launch for record in records if record.launch and record.launch.function_only]
    return {LaneName.of(launch.lane): launch.function_only for launch in sorted(launches, key=lambda one: one.lane)}


def function_only_text(records: Iterable[Record]) -> str:
    """Returns which lanes show function and no timing, for captions; empty if there are none."""
    records = list(records)
    lanes = function_only_lanes(records)
    if not lanes:
        return ""
    names = "all lanes" if len(lanes) == len(lane_names(records)) else ", ".join(lane.name for lane in lanes)
    return f"function, no timing ({names})"


def function_only_reasons(records: Iterable[Record]) -> str:
    """Returns ``function_only_text`` with the reasons; empty if there are none."""
    records = list(records)
    reasons = "; ".join(dict.fromkeys(function_only_lanes(records).values()))
    return f"{function_only_text(records)}: {reasons}" if reasons else ""
