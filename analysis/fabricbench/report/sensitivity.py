# SPDX-License-Identifier: Apache-2.0
"""The section of sensitivities: how the run time of each application depends on delays that were injected."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.applications import heading
from fabricbench.report.facets import Facet
from fabricbench.report.formatting import clean, duration, number, percent, plural, slugs
from fabricbench.report.groups import Number
from fabricbench.report.style import LaneStyle, lane_styles
from fabricbench.site.lane import LaneName
from fabricbench.stats.interval import Interval
from fabricbench.verdict.profiles import has_confidence
from fabricbench.verdict.series import CellKey

_KINDS = {
    "latency": ("added latency", "µs"),
    "per_byte": ("added time per byte", "ns per byte"),
    "overhead": ("added overhead", "µs"),
}
"""What each kind of delay adds, and its unit."""


class Sensitivity(Protocol):
    """The dependence of one application's run time on one kind of delay on one lane, as ``verdict.sensitivity`` has it.

    ``levels``: the delays in the unit of the kind. ``slope``: messages or bytes on the critical path. ``relative``:
    percent of the run time per unit of the delay. ``run_time``: seconds without a delay. ``reason``: why there is no
    slope.
    """

    @property
    def key(self) -> CellKey: ...
    @property
    def kind(self) -> str: ...
    @property
    def levels(self) -> tuple[float, ...]: ...
    @property
    def run_time(self) -> Interval: ...
    @property
    def slope(self) -> Interval: ...
    @property
    def relative(self) -> Interval: ...
    @property
    def transfer_efficiency(self) -> Interval: ...
    @property
    def reason(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """One lane, as text. ``sentence``: the loss per unit of the delay."""

    lane: str
    sentence: str
    run_time: Number
    slope: Number
    relative: Number
    transfer_efficiency: Number
    levels: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SensitivityView:
    """The sensitivities of one problem on a number of ranks to one kind of delay."""

    anchor: str
    title: str
    unit: str
    svg: Markup
    rows: tuple[SensitivityRow, ...]


def sensitivity_views(found: Sequence[Sensitivity], confidence: float) -> list[SensitivityView]:
    """Returns a view for every problem, number of ranks and kind of delay."""
    groups: dict[tuple[str, str], list[Sensitivity]] = defaultdict(list)
    for one in found:
        key = one.key
        facet = Facet(key.tool, key.benchmark, key.case, key.ranks, key.nodes)
        place = f"{plural(key.ranks, 'rank')} on {plural(key.nodes, 'node')}"
        what, _ = _KINDS.get(one.kind, (one.kind, ""))
        groups[f"{heading(facet)}, {place}: {what}", one.kind].append(one)
    anchors = slugs((title for title, _ in groups), "sensitivity")
    styles = lane_styles(one.key.lane_name for one in found)
    return [
        SensitivityView(
            anchor=anchors[title],
            title=title,
            unit=_KINDS.get(kind, ("", ""))[1],
            svg=_figure(group, kind, styles, anchors[title], title),
            rows=tuple(_row(one, confidence) for one in group),
        )
        for (title, kind), group in groups.items()
    ]


def _row(one: Sensitivity, confidence: float) -> SensitivityRow:
    _, unit = _KINDS.get(one.kind, ("", ""))
    lane = one.key.lane_name.name
    loss = one.relative.estimate
    sentence = f"{lane} loses {number(loss, 2)} % per added {unit}" if loss is not None else ""
    return SensitivityRow(
        lane=lane,
        sentence=sentence,
        run_time=_number(one.run_time, confidence, duration),
        slope=_number(one.slope, confidence, _three),
        relative=_number(one.relative, confidence, _three),
        transfer_efficiency=_number(one.transfer_efficiency, confidence, percent),
        levels=", ".join(f"{level:g}" for level in one.levels),
        notes=(*((one.reason,) if one.reason else ()), *one.notes),
    )


def _number(value: Interval, confidence: float, text: Callable[[float | None], str]) -> Number:
    """The estimate with its interval, which is empty if it has too little confidence."""
    known = value.low is not None and value.high is not None and has_confidence(value, confidence)
    return Number(text(value.estimate), f"{text(value.low)} to {text(value.high)}" if known else "", value.n, False)


def _three(value: float | None) -> str:
    return number(value, 3)


def _figure(
    group: Sequence[Sensitivity], kind: str, styles: Mapping[LaneName, LaneStyle], key: str, title: str
) -> Markup:
    """The fitted run time over the delay, a line per lane with the interval of its slope; empty without a slope."""
    lines = [one for one in group if one.relative.estimate is not None and one.levels]
    if not lines:
        return Markup()
    what, unit = _KINDS.get(kind, (kind, ""))
    with svg.drawing(f"{key}-figure"):
        above = 0.12 + 0.19 * -(-len(lines) // 2)
        figure = Figure(figsize=(5.3, 2.3 + above))
        inches = figure.get_figheight()
        axes = figure.add_axes((0.13, 0.48 / inches, 0.84, (2.3 - 0.58) / inches))
        for one in lines:
            _line(axes, one, styles[one.key.lane_name])
        axes.set_xlim(left=0)
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.set_xlabel(f"{what}, {unit}")
        axes.set_ylabel("run time, %")
        figure.legend(loc="upper left", ncols=2, fontsize=8, handlelength=3.5, borderaxespad=0.1)
        description = "; ".join(
            f"{one.key.lane_name.name}: {_three(one.relative.estimate)} % of the run time per {unit}" for one in lines
        )
        return Markup(svg.inline(figure, f"{key}-figure", clean(title), clean(description)))


def _line(axes: Axes, one: Sensitivity, style: LaneStyle) -> None:
    levels = sorted({0.0, *one.levels})
    slope = one.relative.estimate or 0.0
    axes.plot(
        levels, [100 + slope * level for level in levels], linestyle=style.dash, marker=style.marker, markersize=4,
        color=style.colour, linewidth=1.4, label="\u200b" + clean(one.key.lane_name.name),
    )  # fmt: skip
    if one.relative.low is not None and one.relative.high is not None:
        low, high = ([100 + limit * level for level in levels] for limit in (one.relative.low, one.relative.high))
        axes.fill_between(levels, low, high, color=style.colour, alpha=0.15, linewidth=0)
