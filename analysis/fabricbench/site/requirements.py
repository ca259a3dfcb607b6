# SPDX-License-Identifier: Apache-2.0
"""The requirements of a site: limits on metrics of benchmarks. ``site.requirements_file`` reads them from a file."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fabricbench.errors import BadInput, nearest
from fabricbench.metrics import Metric
from fabricbench.site.lane import LaneName

Bounds = tuple[float | None, float | None]
"""(lower, upper) limit; None if there is no limit on that side."""

LANE_KEYS = ("stack", "fabric", "variant")
MANY = (*LANE_KEYS, "case")
"""Keys of ``select`` that take one name or a list of names. An absent key selects every name."""

LOST_AT_MOST = 0.1
"""Default for the share of a cell's launches that may be lost, 0 to 1."""


@dataclass(frozen=True, slots=True)
class SizeSelection:
    """A selection of message sizes in bytes: those in ``values``, else all from ``low`` to ``high``, ends included.

    Without any of the three it selects every size, and values without a size.
    """

    values: tuple[int, ...] = ()
    low: int | None = None
    high: int | None = None

    def contains(self, size: int | None) -> bool:
        """Returns whether the selection includes ``size``; None stands for a value without a size."""
        if self.values:
            return size in self.values
        if self.low is None and self.high is None:
            return True
        return size is not None and (self.low or 0) <= size and (self.high is None or size <= self.high)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A limit on every cell that the requirement selects.

    ``many`` holds the accepted values by column; a missing column accepts every value. ``relative_to`` holds the
    columns in which the denominator differs. ``lower`` and ``upper`` are in ``unit``, which is the metric's unit or
    "ratio". ``measured_only``: cells that were planned and not measured are excluded. ``lost_at_most`` is the share of
    a cell's launches that may be lost, 0 to 1. ``lines`` holds the line of each part in the file, for messages.
    """

    id: str
    text: str
    clause: str
    tool: str
    benchmark: str
    metric: Metric
    many: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, int]
    sizes: SizeSelection
    relative_to: Mapping[str, str | int]
    lower: float | None
    upper: float | None
    unit: str
    path: str
    lines: Mapping[str, int]
    measured_only: bool = False
    lost_at_most: float = LOST_AT_MOST

    @property
    def relative(self) -> bool:
        """Whether the limit applies to the ratio of two cells."""
        return bool(self.relative_to)

    @property
    def bound(self) -> str:
        """The limit as text: ``at most 200 us``."""
        unit = "" if self.relative else f" {self.unit}"
        if self.lower is None:
            return f"at most {self.upper:g}{unit}"
        if self.upper is None:
            return f"at least {self.lower:g}{unit}"
        return f"within {self.lower:g} to {self.upper:g}{unit}"

    def where(self, part: str = "id") -> str:
        """Returns ``file:line`` of a part; of the requirement itself if the file does not contain the part."""
        return f"{self.path}:{self.lines.get(part, self.lines['id'])}"


@dataclass(frozen=True, slots=True)
class Requirements:
    """All requirements of one file, in the order of the file."""

    path: str
    items: tuple[Requirement, ...]


class AbsoluteBound(NamedTuple):
    """A limit on one metric of a benchmark, in the metric's unit; None if there is no limit on that side."""

    benchmark: str
    metric: str
    sizes: SizeSelection
    lower: float | None
    upper: float | None
    unit: str


def check_names(requirements: Requirements, accepted: Mapping[str, Collection[str]]) -> None:
    """Raises BadInput with the nearest names for a name that ``accepted`` lacks; ``accepted`` is as in ``load``."""
    for item in requirements.items:
        for kind, names in accepted.items():
            selected = item.many.get(kind, ()) if kind in MANY else (getattr(item, kind),)
            other = item.relative_to.get(kind)
            uses = [(f"select.{kind}", name) for name in selected]
            uses += [(f"relative_to.{kind}", str(other))] if other is not None else []
            for part, name in uses:
                if name not in names and name:
                    what = f"unknown {kind} '{name}'"
                    raise BadInput(what, where=item.where(part), expected=nearest(name, names))


def refuse_timing(requirements: Requirements, function_only: Mapping[LaneName, str], lanes: Sequence[LaneName]) -> None:
    """Raises BadInput for a requirement on times of a lane whose times are no measurements.

    ``function_only`` holds the reason for each such lane, ``lanes`` all lanes of the site or campaign. A ratio is
    refused if its numerator or its denominator is on such a lane.
    """
    for item in requirements.items:
        for lane in lanes if item.metric.timing else ():
            if any(getattr(lane, key) not in item.many.get(key, (getattr(lane, key),)) for key in LANE_KEYS):
                continue
            other = LaneName(*(str(item.relative_to.get(key, getattr(lane, key))) for key in LANE_KEYS))
            if slow := next((one for one in (lane, other) if one in function_only), None):
                raise BadInput(
                    f"{item.id} bounds {item.metric.name}, but times on {slow.name} are no measurements: "
                    f"{function_only[slow]}",
                    where=item.where("select"),
                    expected=f"other fabrics than {slow.fabric}, or a metric that counts",
                )


def absolute_bounds(
    requirements: Requirements, *, tool: str, fabric: str, stack: str, variant: str = ""
) -> list[AbsoluteBound]:
    """Returns the absolute limits for one tool on one lane, which a single launch can violate.

    Requirements on ratios and those that select a case, ranks or nodes are left to ``verdict.judge``.
    """
    lane = {"stack": stack, "fabric": fabric, "variant": variant}
    return [
        AbsoluteBound(item.benchmark, item.metric.name, item.sizes, item.lower, item.upper, item.unit)
        for item in requirements.items
        if not item.relative
        and item.tool == tool
        and all(lane[key] in item.many.get(key, (lane[key],)) for key in LANE_KEYS)
        and "case" not in item.many
        and not item.counts
    ]


def as_reference(value: float, bounds: Sequence[AbsoluteBound]) -> tuple[float, float | None, float | None, str]:
    """Returns ``bounds`` as a ReFrame reference: (value, lower deviation, upper deviation, unit).

    The deviations are shares of the reference value. The tightest limit of each side applies. If the limits contradict
    each other, the reference holds the one that ``value`` violates.
    """
    unit = bounds[0].unit
    upper = min((bound.upper for bound in bounds if bound.upper is not None), default=None)
    lower = max((bound.lower for bound in bounds if bound.lower is not None), default=None)
    if upper is not None and lower is not None and (lower > upper or upper == 0):
        upper, lower = (None, lower) if value < lower else (upper, None)
    if upper is None:
        assert lower is not None, "every bound has a limit on at least one side"
        return lower, 0.0, None, unit
    return upper, None if lower is None else (lower - upper) / upper, 0.0, unit
