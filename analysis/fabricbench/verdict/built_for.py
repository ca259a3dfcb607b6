# SPDX-License-Identifier: Apache-2.0
"""Names the lanes whose NAS kernels were built for different processors, so that nobody compares them unawares."""

from collections import defaultdict
from collections.abc import Iterable

from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Record
from fabricbench.verdict.codes import CODE, NASA

_ADVICE = "their computation times differ for that reason too"


def different_targets(records: Iterable[Record], *lanes: str) -> str:
    """Returns one line about programs that were built for different processors; empty if all targets agree.

    ``lanes`` limits the launches to two or more lanes, and compares the own kernels and NASA's programs by themselves;
    without any, all programs of the campaign are compared. Launches with an unknown target do not count.
    """
    groups: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        launch = record.launch
        if launch is None or launch.target is None or (lanes and launch.lane not in lanes):
            continue
        groups[_code(launch) if lanes else ""][launch.target.text].add(_name(launch))
    texts = [_sentence(targets) for _, targets in sorted(groups.items()) if len(targets) > 1]
    return f"built for different processors: {'; '.join(texts)}; {_ADVICE}" if texts else ""


def _sentence(targets: dict[str, set[str]]) -> str:
    return "; ".join(f"{', '.join(sorted(names))} for {text}" for text, names in sorted(targets.items()))


def _code(launch: Launch) -> str:
    return str(launch.case.get(CODE, ""))


def _name(launch: Launch) -> str:
    return f"NASA's programs of {launch.lane}" if _code(launch) == NASA else f"own kernels of {launch.lane}"
