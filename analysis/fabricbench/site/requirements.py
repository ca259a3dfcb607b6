# SPDX-License-Identifier: Apache-2.0
"""Requirements of a site: bounds on metrics, from ``site/<system>/requirements.yaml``."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fabricbench.errors import BadInput, nearest
from fabricbench.files.yaml_lines import Node, read
from fabricbench.metrics import METRICS, Metric, metric

Bounds = tuple[float | None, float | None]
"""(lower, upper); None where there is none on that side."""

LANE_KEYS = ("stack", "fabric", "variant")
MANY = (*LANE_KEYS, "case")
"""Keys of ``select`` that take one name or a list; absent means every one."""

COUNTS = ("ranks", "nodes")
_ONE = ("tool", "benchmark", "metric")
_SELECT = (*_ONE, *MANY, *COUNTS, "msg_size_bytes")
_RELATIVE = (*_ONE, *MANY, *COUNTS)
_BOUNDS = ("at_most", "at_least", "within")
_ENTRY = ("id", "text", "clause", "select", "where", "relative_to", "lost_at_most", *_BOUNDS)
MEASURED = "measured"
"""The value of ``where`` that leaves out what was planned and not measured."""
LOST_AT_MOST = 0.1
"""The share of a cell's launches that may be lost where a requirement does not say."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Which message sizes, in bytes: those in ``listed``, else all from ``low`` to ``high``, ends included.

    With none of the three every size, and what has no size, is meant.
    """

    listed: tuple[int, ...] = ()
    low: int | None = None
    high: int | None = None

    def contains(self, size: int | None) -> bool:
        """Whether a measured size is meant; ``None`` is a value without a size."""
        if self.listed:
            return size in self.listed
        if self.low is None and self.high is None:
            return True
        return size is not None and (self.low or 0) <= size and (self.high is None or size <= self.high)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound on every cell that is selected.

    ``many`` holds the accepted values by column, a missing column meaning every value; ``relative_to`` the
    columns of the denominator that differ. ``lower`` and ``upper`` are in ``unit``: the metric's own, or
    "ratio". ``lines`` gives the line of each part for messages. ``measured_only``: what was planned and not measured
    is left out. ``lost_at_most`` is the share of a cell's launches that may be lost.
    """

    id: str
    text: str
    clause: str
    tool: str
    benchmark: str
    metric: Metric
    many: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, int]
    sizes: Sizes
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
        """Whether the bound is on the ratio of two cells."""
        return bool(self.relative_to)

    @property
    def bound(self) -> str:
        """The bound in words."""
        unit = "" if self.relative else f" {self.unit}"
        if self.lower is None:
            return f"at most {self.upper:g}{unit}"
        if self.upper is None:
            return f"at least {self.lower:g}{unit}"
        return f"within {self.lower:g} to {self.upper:g}{unit}"

    def where(self, part: str = "id") -> str:
        """``file:line`` of a part, of the requirement itself where the part is not written."""
        return f"{self.path}:{self.lines.get(part, self.lines['id'])}"


@dataclass(frozen=True, slots=True)
class Requirements:
    """All requirements of one file, in its order."""

    path: str
    items: tuple[Requirement, ...]


class AbsoluteBound(NamedTuple):
    """A bound for one benchmark's metric in the metric's own unit; None where there is none on that side."""

    benchmark: str
    metric: str
    sizes: Sizes
    lower: float | None
    upper: float | None
    unit: str


def load(
    path: str | Path, known: Mapping[str, Collection[str]] | None = None, *, guarded: bool = False
) -> Requirements:
    """The requirements of a file; BadInput with ``file:line`` for anything wrong in it.

    ``guarded`` is for a file that may come from anywhere, as in a campaign.

    ``known``: the names that exist here by kind (``tool``, ``benchmark``, ``stack``, ``fabric``,
    ``variant``); kinds that it lacks are not checked.
    """
    top = read(path, guarded=guarded).mapping("the file", ("schema", "requirements"))
    _demand(top, ("schema", "requirements"), "the file", f"{path}:1")
    if top["schema"].integer("schema") != 1:
        raise top["schema"].wrong("schema", "1, the only one that this version reads")
    items: list[Requirement] = []
    for node in top["requirements"].sequence("requirements"):
        item = _requirement(node)
        for other in items:
            if other.id == item.id:
                expected = f"another one than in line {other.lines['id']}"
                raise BadInput(f"id '{item.id}' stands twice", where=item.where(), expected=expected)
        items.append(item)
    found = Requirements(str(path), tuple(items))
    check_names(found, known or {})
    return found


def check_names(requirements: Requirements, known: Mapping[str, Collection[str]]) -> None:
    """BadInput with the nearest names for a name that does not exist here; ``known`` as in ``load``."""
    for item in requirements.items:
        for kind, names in known.items():
            chosen = item.many.get(kind, ()) if kind in MANY else (getattr(item, kind),)
            other = item.relative_to.get(kind)
            pairs = [(f"select.{kind}", name) for name in chosen]
            pairs += [(f"relative_to.{kind}", str(other))] if other is not None else []
            for part, name in pairs:
                if name not in names and name:
                    what = f"unknown {kind} '{name}'"
                    raise BadInput(what, where=item.where(part), expected=nearest(name, names))


def absolute_bounds(
    requirements: Requirements, *, tool: str, fabric: str, stack: str, variant: str = ""
) -> list[AbsoluteBound]:
    """Bounds on single values for one tool on one lane, those that one launch may raise an alarm about.

    Requirements that also ask for a case, ranks or nodes are left to ``judge``.
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
    """``bounds`` as ReFrame writes them: a value, shares that it may lie below and above, a unit."""
    unit = bounds[0].unit
    upper = min((bound.upper for bound in bounds if bound.upper is not None), default=None)
    lower = max((bound.lower for bound in bounds if bound.lower is not None), default=None)
    if upper is not None and lower is not None and (lower > upper or upper == 0):
        upper, lower = (None, lower) if value < lower else (upper, None)
    if upper is None:
        assert lower is not None, "a bound bounds one side at least"
        return lower, 0.0, None, unit
    return upper, None if lower is None else (lower - upper) / upper, 0.0, unit


def _requirement(node: Node) -> Requirement:
    entry = node.mapping("a requirement", _ENTRY)
    _demand(entry, ("id", "text", "select"), "a requirement", node.where)
    name = entry["id"].text("id")
    if not _ID.fullmatch(name):
        raise entry["id"].wrong("id", "letters, digits, '.', '_' and '-' only")
    select = entry["select"].mapping("select", _SELECT)
    _demand(select, _ONE, "select", entry["select"].where)
    declared = metric(select["metric"].text("metric"), select["metric"].where)
    relative = _relative(entry["relative_to"], select, declared) if "relative_to" in entry else {}
    lower, upper = _bounds(entry, node, None if relative else declared)
    lines = {key: child.line for key, child in entry.items()}
    lines |= {f"select.{key}": child.line for key, child in select.items()}
    if relative:
        lines |= {f"relative_to.{key}": child.line for key, child in entry["relative_to"].value.items()}
    return Requirement(
        id=name,
        text=entry["text"].text("text"),
        clause=entry["clause"].text("clause", empty=True) if "clause" in entry else "",
        tool=select["tool"].text("tool"),
        benchmark=select["benchmark"].text("benchmark"),
        metric=declared,
        many={key: _names(select[key], key) for key in MANY if key in select},
        counts={key: select[key].integer(key, least=1) for key in COUNTS if key in select},
        sizes=_sizes(select["msg_size_bytes"]) if "msg_size_bytes" in select else Sizes(),
        relative_to=relative,
        lower=lower,
        upper=upper,
        unit="ratio" if relative else declared.unit,
        path=node.path,
        lines=lines,
        measured_only="where" in entry and _measured(entry["where"]),
        lost_at_most=_share(entry["lost_at_most"], "lost_at_most") if "lost_at_most" in entry else LOST_AT_MOST,
    )  # fmt: skip


def _measured(node: Node) -> bool:
    if node.text("where") != MEASURED:
        raise node.wrong("where", f"'{MEASURED}', or no 'where' for all that was planned")
    return True


def _share(node: Node, what: str) -> float:
    value = node.number(what)
    if not 0 <= value <= 1:
        raise node.wrong(what, "a share from 0 to 1, such as 0.1")
    return value


def _relative(node: Node, select: Mapping[str, Node], declared: Metric) -> dict[str, str | int]:
    """The columns of the denominator that differ from the numerator's."""
    keys = node.mapping("relative_to", _RELATIVE)
    if not keys:
        raise node.wrong("relative_to", "at least one of " + ", ".join(_RELATIVE))
    found: dict[str, str | int] = {}
    for key, child in keys.items():
        empty = key in ("variant", "case")
        found[key] = child.integer(key, least=1) if key in COUNTS else child.text(key, empty=empty)
    if "metric" in keys and metric(str(found["metric"]), keys["metric"].where).unit != declared.unit:
        same = sorted(m.name for m in METRICS.values() if m.unit == declared.unit)
        raise BadInput(
            f"metric '{found['metric']}' is not in {declared.unit} as '{declared.name}' is",
            where=keys["metric"].where,
            expected="one of " + ", ".join(same),
        )
    if all(key in select and select[key].value == value for key, value in found.items()):
        raise BadInput("relative_to compares with itself", where=node.where, expected="another value")
    return found


def _bounds(entry: Mapping[str, Node], node: Node, declared: Metric | None) -> Bounds:
    """The one bound; ``declared`` is None for a ratio, which is a plain number."""
    given = [key for key in _BOUNDS if key in entry]
    if len(given) != 1:
        what = "no bound" if not given else "more than one bound: " + ", ".join(given)
        raise BadInput(what, where=node.where, expected="exactly one of " + ", ".join(_BOUNDS))
    key = given[0]
    if key != "within":
        value = _quantity(entry[key], key, declared)
        return (None, value) if key == "at_most" else (value, None)
    ends = entry[key].sequence(key)
    if len(ends) != 2:
        raise entry[key].wrong(key, "two numbers, the lower one first")
    lower, upper = (_quantity(end, key, declared) for end in ends)
    if lower >= upper:
        what = f"within {lower:g} to {upper:g}"
        raise BadInput(what, where=entry[key].where, expected="the lower one first")
    return lower, upper


def _quantity(node: Node, what: str, declared: Metric | None) -> float:
    if declared is None:
        value = node.number(what)
        if value <= 0:
            raise node.wrong(what, "a ratio above 0")
        return value
    expected = f"a number and the unit of {declared.name}, such as '100 {declared.unit}'"
    parts = node.value.split() if isinstance(node.value, str) else []
    if len(parts) != 2 or parts[1] != declared.unit:
        raise node.wrong(what, expected)
    return Node(parts[0], node.path, node.line, node.raw).number(what)


def _names(node: Node, what: str) -> tuple[str, ...]:
    empty = what in ("variant", "case")
    if isinstance(node.value, tuple):
        return tuple(child.text(what, empty=empty) for child in node.sequence(what))
    return (node.text(what, empty=empty),)


def _sizes(node: Node) -> Sizes:
    what = "msg_size_bytes"
    if isinstance(node.value, dict):
        ends = node.mapping(what, ("from", "to"))
        if not ends:
            raise node.wrong(what, "'from', 'to' or both")
        low, high = (ends[key].size_bytes(key) if key in ends else None for key in ("from", "to"))
        if low is not None and high is not None and low > high:
            raise BadInput(f"from {low} to {high}", where=node.where, expected="the smaller size first")
        return Sizes(low=low, high=high)
    if isinstance(node.value, tuple):
        return Sizes(tuple(sorted({child.size_bytes(what) for child in node.sequence(what)})))
    return Sizes((node.size_bytes(what),))


def _demand(found: Mapping[str, Node], keys: Collection[str], what: str, where: str) -> None:
    for key in keys:
        if key not in found:
            raise BadInput(f"{what} lacks '{key}'", where=where, expected=f"the keys {', '.join(keys)}")
