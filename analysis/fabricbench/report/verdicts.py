# SPDX-License-Identifier: Apache-2.0
"""The section of verdicts: a summary, then each requirement with its lanes and cells."""

from collections import Counter
from dataclasses import dataclass

from fabricbench.report.formatting import (
    MISSING,
    enumerate_words,
    interval,
    number,
    percent,
    plural,
    size_label,
    slugs,
    unit,
)
from fabricbench.report.links import Launches, Link
from fabricbench.verdict.result import Cell, Judgement, SkippedCell, Verdict

SYMBOLS: dict[Verdict, str] = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?", "INVALID": "⊘"}
_WORST_FIRST: tuple[Verdict, ...] = ("FAIL", "INVALID", "INCONCLUSIVE", "PASS")
_MOST_WORST = 3


@dataclass(frozen=True, slots=True)
class CellView:
    """One cell as text; ``evidence``: the anchor of its launches."""

    anchor: str
    verdict: Verdict
    symbol: str
    lane: str
    against: str | None
    size: str
    estimate: str
    interval: str
    unit: str
    confidence: str
    bound: str
    n: int
    mde: str
    reason: str
    notes: tuple[str, ...]
    evidence: str


@dataclass(frozen=True, slots=True)
class Count:
    """The number of cells with a verdict."""

    verdict: Verdict
    symbol: str
    count: int


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """The cells of one requirement on a lane, or on a lane against another; ``worst``: the one that the page shows."""

    counts: tuple[Count, ...]
    sizes: str
    worst: CellView
    cells: tuple[CellView, ...]


@dataclass(frozen=True, slots=True)
class LaunchLinks:
    """The launches of some cells."""

    anchor: str
    label: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class SkippedCells:
    """Cells of a requirement that were skipped for one reason."""

    reason: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequirementView:
    """One requirement with its cells and its skipped cells."""

    anchor: str
    name: str
    text: str
    metric: str
    counts: tuple[Count, ...]
    worst: Verdict
    groups: tuple[LaneGroup, ...]
    cells: tuple[CellView, ...]
    evidence: tuple[LaunchLinks, ...]
    skipped: tuple[SkippedCells, ...]


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One of the worst cells in a few words; ``anchor``: its row."""

    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class VerdictsView:
    """The section of verdicts. ``worst``: up to three of the worst cells that are not PASS."""

    sentence: str
    worst: tuple[VerdictRow, ...]
    counts: tuple[Count, ...]
    requirements: tuple[RequirementView, ...]


def verdicts(judgement: Judgement | None, launches: Launches, attested: str) -> VerdictsView:
    """The section of verdicts. ``attested``: the number of attested lanes, as part of a sentence."""
    if judgement is None or not judgement.cells:
        what = "No requirement was judged" if judgement is None else "The requirements have no cell to judge"
        return VerdictsView(f"{what}; {attested}.", (), (), ())
    anchors = slugs((cell.name for cell in judgement.cells), "cell")
    names = list(dict.fromkeys(cell.requirement for cell in judgement.cells))
    places = slugs(names, "requirement")
    requirements = tuple(
        _requirement(
            [c for c in judgement.cells if c.requirement == name],
            [one for one in judgement.skipped if one.requirement == name],
            places[name],
            anchors,
            launches,
        )
        for name in names
    )
    counts = _counts(judgement.cells)
    worst = tuple(VerdictRow(anchors[c.name], _in_words(c)) for c in _worst_not_passed(judgement.cells))
    ending = "; the worst cells:" if worst else "."
    return VerdictsView(f"{_summary(judgement, counts)}; {attested}{ending}", worst, counts, requirements)


def _summary(judgement: Judgement, counts: tuple[Count, ...]) -> str:
    """The number of cells per verdict, and the number of skipped cells, as part of a sentence."""
    by_verdict = enumerate_words(f"{count.count} {count.verdict}" for count in counts)
    blocks = plural(judgement.blocks, "block")
    by = (
        f" by {judgement.requirements_file}, not by the campaign's own requirements"
        if judgement.requirements_file
        else ""
    )
    skipped = f"; {plural(len(judgement.skipped), 'cell')} not measured and skipped" if judgement.skipped else ""
    return f"Of {plural(len(judgement.cells), 'cell')} judged over {blocks}{by}, {by_verdict}{skipped}"


def _requirement(
    cells: list[Cell], skipped: list[SkippedCell], anchor: str, anchors: dict[str, str], launches: Launches
) -> RequirementView:
    evidence = list(dict.fromkeys(cell.launches for cell in cells if cell.launches))
    places = {names: f"{anchor}-evidence-{i}" for i, names in enumerate(evidence, start=1)}
    views = {c.name: _view(c, anchors[c.name], places.get(c.launches, "")) for c in cells}
    groups = []
    for lane, against in dict.fromkeys((c.lane, c.against) for c in cells):
        group = [c for c in cells if (c.lane, c.against) == (lane, against)]
        groups.append(_group(group, views))
    first = cells[0]
    return RequirementView(
        anchor=anchor,
        name=first.requirement,
        text=first.text,
        metric=f"{first.tool} {first.benchmark} {first.metric}",
        counts=_counts(cells),
        worst=_worst(cells)[0].verdict,
        groups=tuple(groups),
        cells=tuple(views[c.name] for c in cells),
        evidence=tuple(
            LaunchLinks(place, _evidence_label(names, cells), tuple(launches.link(name) for name in names))
            for names, place in places.items()
        ),
        skipped=tuple(
            SkippedCells(reason, tuple(one.name for one in skipped if one.reason == reason))
            for reason in dict.fromkeys(one.reason for one in skipped)
        ),
    )


def _evidence_label(names: tuple[str, ...], cells: list[Cell]) -> str:
    """The cells whose evidence these launches are, as text."""
    using = [c for c in cells if c.launches == names]
    lanes = dict.fromkeys(c.lane + (f" against {c.against}" if c.against else "") for c in using)
    return f"{', '.join(lanes)}, {_size_span(using)}"


def _size_span(cells: list[Cell]) -> str:
    sizes = sorted({c.msg_size_bytes for c in cells if c.msg_size_bytes is not None})
    if not sizes:
        return "no size"
    if len(sizes) == 1:
        return size_label(sizes[0])
    return f"{len(sizes)} sizes, {size_label(sizes[0])} to {size_label(sizes[-1])}"


def _group(cells: list[Cell], views: dict[str, CellView]) -> LaneGroup:
    worst = views[_worst(cells)[0].name]
    return LaneGroup(_counts(cells), _size_span(cells), worst, tuple(views[c.name] for c in cells))


def _view(cell: Cell, anchor: str, evidence: str) -> CellView:
    return CellView(
        anchor=anchor,
        verdict=cell.verdict,
        symbol=SYMBOLS[cell.verdict],
        lane=cell.lane,
        against=cell.against,
        size=size_label(cell.msg_size_bytes),
        estimate=number(cell.estimate),
        interval=interval(cell.low, cell.high),
        unit=unit(cell.unit) if cell.estimate is not None else "",
        confidence=percent(cell.confidence) if cell.confidence is not None else "",
        bound=cell.bound,
        n=cell.n,
        mde=percent(cell.mde, 2),
        reason=cell.reason,
        notes=cell.notes,
        evidence=evidence,
    )


def _counts(cells: list[Cell] | tuple[Cell, ...]) -> tuple[Count, ...]:
    counts = Counter(cell.verdict for cell in cells)
    return tuple(Count(v, SYMBOLS[v], counts[v]) for v in ("PASS", "FAIL", "INCONCLUSIVE", "INVALID") if counts[v])


def _worst(cells: list[Cell] | tuple[Cell, ...]) -> list[Cell]:
    """The cells from worst to best: by verdict, FAIL by ascending and the others by descending q-value."""

    def rank(cell: Cell) -> tuple[int, float]:
        q = cell.q_value if cell.q_value is not None else 1.0
        return _WORST_FIRST.index(cell.verdict), q if cell.verdict == "FAIL" else -q

    return sorted(cells, key=rank)


def _worst_not_passed(cells: tuple[Cell, ...]) -> list[Cell]:
    """The worst cells that are not PASS, at most one per requirement and lane, and at most three."""
    worst: dict[tuple[str, str, str | None], Cell] = {}
    for cell in _worst(cells):
        if cell.verdict != "PASS":
            worst.setdefault((cell.requirement, cell.lane, cell.against), cell)
    return list(worst.values())[:_MOST_WORST]


def _in_words(cell: Cell) -> str:
    against = f" against {cell.against}" if cell.against else ""
    at = f" at {size_label(cell.msg_size_bytes)}" if cell.msg_size_bytes is not None else ""
    text = f"{cell.verdict}: {cell.lane}{against} on {cell.requirement}{at}"
    if cell.estimate is None:
        return f"{text}, {cell.reason}" if cell.reason else text
    spread = interval(cell.low, cell.high)
    spread = "" if spread == MISSING else f" {spread}"
    return f"{text}, {number(cell.estimate)} {unit(cell.unit)}{spread}; the bound is {cell.bound}"
