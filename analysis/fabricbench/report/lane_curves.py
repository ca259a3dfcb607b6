# SPDX-License-Identifier: Apache-2.0
"""Draws latency and bandwidth of all lanes as one SVG file."""

import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fabricbench.report import facets, svg
from fabricbench.report.figures import draw_panel, line_style
from fabricbench.report.formatting import clean
from fabricbench.report.style import lane_styles


def lane_curves_svg(table: pl.DataFrame, confidence: float = 0.95, note: str = "") -> str:
    """Latency and bandwidth of the ping-pong over message size, every lane, as an SVG file.

    Letters are outlines, so that the picture does not depend on the fonts of its viewer. ``note`` is printed below.
    """
    panels, _tool = facets.pingpong(facets.panels(table, confidence))
    styles = lane_styles(facets.lanes(table))
    with svg.drawing("lane-curves", outlines=True):
        figure = Figure(figsize=(10.6, 4.6))
        selection = [next((p for p in panels if p.metric == name), None) for name in ("latency", "bandwidth")]
        lanes = sorted({lane for panel in selection if panel for lane in panel.lines})
        height = 0.76 - 0.06 * (max(0, len(lanes) - 1) // 6)
        for place, panel in zip((0.072, 0.57), selection, strict=True):
            axes = figure.add_axes((place, 0.125, 0.415, height))
            if panel is None:
                axes.set_axis_off()
                axes.text(0.5, 0.5, "nothing measured", ha="center", transform=axes.transAxes)
                continue
            draw_panel(axes, panel, styles)
            axes.set_title(f"{panel.metric}, {facets.describe(panel.facet)}", loc="left", fontsize=10)
        handles = [Line2D([], [], **line_style(styles[lane], 5)) for lane in lanes]
        names = ["\u200b" + clean(lane.name) for lane in lanes]
        if lanes:
            figure.legend(handles, names, loc="upper left", ncols=min(6, len(lanes)), bbox_to_anchor=(0.04, 1.0))
        if note:
            figure.text(0.5, 0.01, clean(note), ha="center", fontsize=9)
        return svg.standalone(figure, white=True)
