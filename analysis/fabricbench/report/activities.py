# SPDX-License-Identifier: Apache-2.0
"""Where an application's time went, by its own account: activities in groups, as shares of the run."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup
from matplotlib.figure import Figure

from fabricbench.report import svg
from fabricbench.report.series import ACTIVITY, Facet, Panel
from fabricbench.report.style import COLOURS, Lane
from fabricbench.report.words import clean

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
"""Rows of GROMACS's cycle table. PME's messages are contained in its mesh, and taken off there."""


@dataclass(frozen=True, slots=True)
class Split:
    """A drawing of shares and the same as a table: a row per lane and number of ranks, a column per group."""

    svg: Markup
    columns: tuple[str, ...]
    rows: tuple[tuple[str, int, tuple[str, ...]], ...]


def splits(found: Sequence[Panel], title: Callable[[Facet], str], anchors: Mapping[str, str]) -> dict[str, Split]:
    """Of every run that says it, by its title: the medians of its activities over blocks, in groups."""
    seconds: dict[str, dict[tuple[Lane, int], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for panel in found:
        words = panel.facet.case.split()
        names = [word.removeprefix(_KEY) for word in words if word.startswith(_KEY)]
        if panel.metric != ACTIVITY or len(names) != 1:
            continue
        run = replace(panel.facet, case=" ".join(word for word in words if not word.startswith(_KEY)))
        for lane, line in panel.lines.items():
            seconds[title(run)][lane, run.ranks][names[0]] = line[0].estimate
    return {name: _split(bars, anchors[name]) for name, bars in seconds.items() if name in anchors}


def shares(seconds: Mapping[str, float]) -> dict[str, float]:
    """Share of the total by group, ``other`` what no group has; empty without a total."""
    total = seconds.get(_TOTAL, 0.0)
    if total <= 0:
        return {}
    grouped = {group: sum(seconds.get(name, 0.0) for name in names) for group, names in GROUPS.items()}
    grouped["PME"] = max(0.0, grouped["PME"] - grouped["PME messages"])
    grouped[_OTHER] = max(0.0, total - sum(grouped.values()))
    return {group: value / total for group, value in grouped.items()}


def _split(bars: Mapping[tuple[Lane, int], Mapping[str, float]], key: str) -> Split:
    found = {place: shares(seconds) for place, seconds in sorted(bars.items())}
    columns = tuple(group for group in (*GROUPS, _OTHER) if any(bar.get(group, 0.0) > 0 for bar in found.values()))
    rows = tuple(
        (lane.name, ranks, tuple(f"{bar.get(group, 0.0):.1%}" for group in columns))
        for (lane, ranks), bar in found.items()
    )
    return Split(Markup(_drawing(found, columns, f"{key}-time")), columns, rows)


def _drawing(found: Mapping[tuple[Lane, int], Mapping[str, float]], columns: Sequence[str], key: str) -> str:
    """A bar per lane and number of ranks, as inline SVG; its colours are those of the table's heads."""
    colours = {**dict(zip(GROUPS, COLOURS, strict=True)), _OTHER: _OTHER_COLOUR}
    with svg.drawing(key):
        figure = Figure(figsize=(5.3, 1.35 + 0.24 * len(found)))
        height = 1 - 1.2 / figure.get_figheight()
        axes = figure.add_axes((0.33, 0.5 / figure.get_figheight(), 0.64, height))
        for at, bar in enumerate(found.values()):
            left = 0.0
            for group in columns:
                width = 100 * bar.get(group, 0.0)
                axes.barh([at], [width], left=left, height=0.7, color=colours[group], label=group if at == 0 else None)
                left += width
        axes.set_yticks(range(len(found)))
        axes.set_yticklabels(["\u200b" + clean(f"{lane.name}, {ranks}") for lane, ranks in found])
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the run; lane, ranks")
        figure.legend(loc="upper center", ncols=2, fontsize=7.5, borderaxespad=0.1, handlelength=1.0)
        said = "; ".join(
            f"{lane.name}, {ranks} rank(s): " + ", ".join(f"{group} {bar.get(group, 0.0):.1%}" for group in columns)
            for (lane, ranks), bar in found.items()
        )
        return svg.inline(figure, key, "where the time went", clean(said))
