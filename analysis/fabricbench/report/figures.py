# SPDX-License-Identifier: Apache-2.0
"""Draws panels: a line per lane over message size, with the interval of every point."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.facets import Line, Panel, Point
from fabricbench.report.formatting import clean, number, unit
from fabricbench.report.scales import Sizes, axis_label, size_axis, value_axis, value_scale
from fabricbench.report.style import LaneStyle
from fabricbench.site.lane import LaneName

_KEY = "{key}"
_COMMON_COLOUR = "#6b7280"
"""The colour of a calculated line that is the same for all lanes, and of the legend's piece of calculated lines."""


def panel_svg(panel: Panel, styles: Mapping[LaneName, LaneStyle], key: str, title: str) -> str:
    """One panel as inline SVG, 5.3 x 3.4 inches, without caption and legend."""
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 3.4))
        axes = figure.add_axes((0.135, 0.145, 0.845, 0.81))
        draw_panel(axes, panel, styles)
        return svg.inline(figure, key, clean(title), clean(_describe(panel)))


def small_svg(panel: Panel, styles: Mapping[LaneName, LaneStyle], key: str, title: str) -> str:
    """One panel as inline SVG, 3.6 x 2.5 inches, without caption and legend."""
    with svg.drawing(key):
        figure = Figure(figsize=(3.6, 2.5))
        axes = figure.add_axes((0.175, 0.19, 0.805, 0.76))
        draw_panel(axes, panel, styles, most_ticks=5)
        return svg.inline(figure, key, clean(title), clean(_describe(panel)))


def swatch_svg(style: LaneStyle, key: str) -> str:
    """A short piece of a lane's line as inline SVG, for a legend."""
    return _swatch(style).replace(_KEY, key)


@cache
def _swatch(style: LaneStyle) -> str:
    """A swatch whose ids begin with ``_KEY``. A page has many swatches and few styles, and drawing takes long."""
    with svg.drawing("swatch"):
        figure = Figure(figsize=(0.5, 0.18))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(-1, 1), ylim=(-1, 1))
        axes.plot([-0.9, 0, 0.9], [0, 0, 0], markevery=[1], **line_style(style, 5.5))
        return svg.hidden(figure, _KEY)


def common_line(lines: Iterable[Line]) -> Line:
    """Returns one line through the points of all; none if two lines differ at a point, or if there are no lines."""
    points: dict[int | None, Point] = {}
    for point in (point for line in lines for point in line):
        if points.setdefault(point.size, point).estimate != point.estimate:
            return ()
    return tuple(sorted(points.values(), key=lambda point: point.size or 0))


def _thin_line(axes: Axes, line: Line, sizes: Sizes, colour: str, dash: str | tuple[int, tuple[float, ...]]) -> None:
    x, y = [sizes.at(point.size or 0) for point in line], [point.estimate for point in line]
    axes.plot(x, y, color=colour, linestyle=dash, linewidth=0.8, alpha=0.75)


def draw_panel(axes: Axes, panel: Panel, styles: Mapping[LaneName, LaneStyle], most_ticks: int = 7) -> None:
    """Draws the lines and both axes of a panel."""
    scale = value_scale(panel)
    lines = {lane: _drawable(line, scale) for lane, line in panel.lines.items()}
    models = {lane: _drawable(line, scale) for lane, line in panel.model.items()}
    sizes = Sizes.of([*lines.values(), *models.values()])
    common = common_line(models.values())
    for lane in [] if common else sorted(models):
        _thin_line(axes, models[lane], sizes, styles[lane].colour, styles[lane].dash)
    if common:
        _thin_line(axes, common, sizes, _COMMON_COLOUR, "-")
    for lane in sorted(lines):
        _line(axes, lines[lane], sizes, styles[lane])
    size_axis(axes, sizes, most_ticks, panel.axis)
    value_axis(axes, [p for line in (*lines.values(), *models.values()) for p in line], scale)
    name = clean(panel.metric).replace("_", " ")
    measure = f"{name} in {clean(_unit(panel))}" if panel.unit else name
    axes.set_ylabel("ratio" if scale == "ratio" else measure)
    axes.grid(True, axis="y")
    axes.set_axisbelow(True)


def line_style(style: LaneStyle, size: float) -> dict[str, Any]:
    """The arguments of matplotlib's ``plot`` for a lane; ``size`` of its markers in points."""
    return {
        "color": style.colour, "marker": style.marker, "linestyle": style.dash, "linewidth": 1.4,
        "markersize": size, "markeredgecolor": "white", "markeredgewidth": 0.5,
    }  # fmt: skip


def _unit(panel: Panel) -> str:
    return panel.unit if panel.unit == "ratio" else unit(panel.unit)


def _drawable(line: Line, scale: str) -> Line:
    """The points with a size and with a value that the scale can show."""
    positive = scale in ("log", "ratio")
    return tuple(
        p for p in line if p.size is not None and math.isfinite(p.estimate) and (p.estimate > 0 or not positive)
    )


def _line(axes: Axes, line: Line, sizes: Sizes, lane_style: LaneStyle) -> None:
    """Draws a lane's line. No line leads to size 0; the line is pale next to a point that is not significant."""
    style = line_style(lane_style, 4.6)
    for part in filter(None, ([p for p in line if p.size == 0], [p for p in line if p.size])):
        x, y = [sizes.at(p.size or 0) for p in part], [p.estimate for p in part]
        _band(axes, x, part, lane_style)
        bare = style | {"marker": ""}
        axes.plot(x, y, **(bare | {"alpha": 0.4 if any(p.weak for p in part) else 1}))
        for start, end in _strong_runs(part):
            axes.plot(x[start:end], y[start:end], **bare)
        for weak in (True, False):
            at = [i for i, p in enumerate(part) if p.weak is weak]
            if at:
                marks = style | {"linestyle": "none"} | (_weak(lane_style) if weak else {})
                axes.plot([x[i] for i in at], [y[i] for i in at], **marks)


def _band(axes: Axes, x: list[float], part: Sequence[Point], style: LaneStyle) -> None:
    """Draws the intervals: a band with holes at points without an interval; a bar for a single point."""
    low = [p.estimate if p.low is None else p.low for p in part]
    high = [p.estimate if p.high is None else p.high for p in part]
    has_interval = [p.low is not None and p.high is not None for p in part]
    if len(part) > 1:
        axes.fill_between(x, low, high, where=has_interval, color=style.colour, alpha=0.16, linewidth=0)
    elif any(has_interval):
        axes.plot([x[0], x[0]], [low[0], high[0]], color=style.colour, alpha=0.4, linewidth=3)


def _strong_runs(part: Sequence[Point]) -> list[tuple[int, int]]:
    """Runs of two or more neighbouring significant points, unless all points are significant; ends are exclusive."""
    runs, start = [], 0
    for end in range(len(part) + 1):
        if end == len(part) or part[end].weak:
            if end - start > 1 and end - start < len(part):
                runs.append((start, end))
            start = end + 1
    return runs


def _weak(style: LaneStyle) -> dict[str, Any]:
    return {"markerfacecolor": "white", "markeredgecolor": style.colour, "markeredgewidth": 0.9, "alpha": 0.55}


def _describe(panel: Panel) -> str:
    """A panel in words: the first and the last point of each lane."""
    parts = []
    named = [(lane.name, line) for lane, line in sorted(panel.lines.items())]
    named += [(f"{panel.model_name} of {lane.name}", line) for lane, line in sorted(panel.model.items())]
    for name, line in named:
        ends = (line[0], line[-1]) if len(line) > 1 else line[:1]
        values = (f"{number(p.estimate)} {_unit(panel)} at {axis_label(panel.axis)(p.size)}" for p in ends)
        parts.append(f"{name}: {' to '.join(values)}")
    return "; ".join(parts)
