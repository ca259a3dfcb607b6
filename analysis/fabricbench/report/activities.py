# SPDX-License-Identifier: Apache-2.0
"""Groups the activities that an application reports, as shares of its run time."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.bars import ROW_INCHES, ends, label_rows
from fabricbench.report.facets import ACTIVITY, Facet, Panel
from fabricbench.report.formatting import clean
from fabricbench.report.style import COLOURS
from fabricbench.site.lane import LaneName
from fabricbench.site.scale import scale_text

_KEY = "activity="
_TOTAL = "total"
_OTHER = "other"
_OTHER_COLOUR = "#d1d5db"
_PME_MESSAGES = ("pme-redist-x-f", "pme-3d-fft-comm", "pme-halo-exch-comm")

GROUPS: dict[str, tuple[str, ...]] = {
    "forces": ("force", "nb-x-f-buffer-ops", "com-pull-force", "enforced-rotation"),
    "PME": ("pme-mesh",),
    "PME messages": _PME_MESSAGES,
    "halo: messages and waiting": ("comm-coord", "wait-comm-f"),
    "PME ranks: messages and waiting": ("send-x-to-pme", "wait-recv-pme-f", "pme-wait-for-pp", "wait-pme-recv-pp-x"),
    "neighbours and domains": ("neighbor-search", "domain-decomp", "dd-comm-load", "dd-comm-bounds"),
    "update and constraints": ("update", "constraints", "vsite-constr", "vsite-spread", "comm-energies"),
}
"""Groups of rows of GROMACS's cycle table. Its row of the PME mesh includes the PME messages; ``shares`` subtracts
them."""


@dataclass(frozen=True, slots=True)
class Split:
    """A figure of shares, and the numbers of all scales as a table: a row per lane and scale, a column per group."""

    svg: Markup
    columns: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]


_Place = tuple[LaneName, int, int]
"""Lane, ranks and nodes."""


def splits(panels: Sequence[Panel], title: Callable[[Facet], str], anchors: Mapping[str, str]) -> dict[str, Split]:
    """The shares of every run that reports its activities, by its title: medians over blocks."""
    seconds: dict[str, dict[_Place, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for panel in panels:
        words = panel.facet.case.split()
        names = [word.removeprefix(_KEY) for word in words if word.startswith(_KEY)]
        if panel.metric != ACTIVITY or len(names) != 1:
            continue
        run = replace(panel.facet, case=" ".join(word for word in words if not word.startswith(_KEY)))
        for lane, line in panel.lines.items():
            seconds[title(run)][lane, run.ranks, run.nodes][names[0]] = line[0].estimate
    return {name: _split(bars, anchors[name]) for name, bars in seconds.items() if name in anchors}


def shares(seconds: Mapping[str, float]) -> dict[str, float]:
    """The share of each group in the total; ``other`` is the rest. Empty without a total."""
    total = seconds.get(_TOTAL, 0.0)
    if total <= 0:
        return {}
    grouped = {group: sum(seconds.get(name, 0.0) for name in names) for group, names in GROUPS.items()}
    grouped["PME"] = max(0.0, grouped["PME"] - grouped["PME messages"])
    grouped[_OTHER] = max(0.0, total - sum(grouped.values()))
    return {group: value / total for group, value in grouped.items()}


def _split(bars: Mapping[_Place, Mapping[str, float]], key: str) -> Split:
    by_place = {place: shares(seconds) for place, seconds in sorted(bars.items())}
    columns = tuple(group for group in (*GROUPS, _OTHER) if any(bar.get(group, 0.0) > 0 for bar in by_place.values()))
    rows = tuple(
        (lane.name, scale_text(nodes, ranks), tuple(f"{bar.get(group, 0.0):.1%}" for group in columns))
        for (lane, ranks, nodes), bar in by_place.items()
    )
    lanes = dict.fromkeys(lane for lane, _, _ in by_place)
    drawn = [place for lane in lanes for place in ends([place for place in by_place if place[0] == lane])]
    return Split(Markup(_figure({place: by_place[place] for place in drawn}, columns, f"{key}-time")), columns, rows)


def _figure(bars: Mapping[_Place, Mapping[str, float]], columns: Sequence[str], key: str) -> str:
    """A bar per lane and scale as inline SVG; its legend has the names of the table's columns."""
    colours = {**dict(zip(GROUPS, COLOURS, strict=True)), _OTHER: _OTHER_COLOUR}
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 1.35 + ROW_INCHES * len(bars)))
        height = 1 - 1.2 / figure.get_figheight()
        axes = figure.add_axes((0.42, 0.5 / figure.get_figheight(), 0.55, height))
        for at, bar in enumerate(bars.values()):
            start = 0.0
            for group in columns:
                width = 100 * bar.get(group, 0.0)
                axes.barh([at], [width], left=start, height=0.7, color=colours[group], label=group if at == 0 else None)
                start += width
        label_rows(axes, [(lane, scale_text(nodes, ranks)) for lane, ranks, nodes in bars])
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the run time; lane, scale")
        figure.legend(loc="upper center", ncols=2, fontsize=7.5, borderaxespad=0.1, handlelength=1.0)
        description = "; ".join(
            f"{lane.name}, {scale_text(nodes, ranks)}: "
            + ", ".join(f"{group} {bar.get(group, 0.0):.1%}" for group in columns)
            for (lane, ranks, nodes), bar in bars.items()
        )
        return svg.inline(figure, key, "Run time by activity", clean(description))
