# SPDX-License-Identifier: Apache-2.0
"""Computes verdicts from the long table and the requirements; docs/verdicts.md explains their meaning."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from fabricbench.errors import BadInput
from fabricbench.launch.record import CampaignFacts
from fabricbench.site.requirements import Requirement, Requirements
from fabricbench.stats.multiple import q_values
from fabricbench.stats.spending import Schedule, schedule
from fabricbench.verdict import reasons
from fabricbench.verdict.estimate import Estimate, estimate, sample, side
from fabricbench.verdict.result import EXIT_STATUS, FOREIGN_LOAD, CampaignContext, Cell, Judgement, SkippedCell, Verdict
from fabricbench.verdict.series import CellKey, Series, judged_series
from fabricbench.verdict.targets import Target, targets

_SLACK = 1.0 + 1e-9


@dataclass(frozen=True, slots=True)
class _Draft:
    """A cell before the adjustment for the number of cells; ``invalid`` and ``absence`` are reasons, empty if none."""

    target: Target
    estimate: Estimate | None = None
    launches: tuple[str, ...] = ()
    invalid: str = ""
    absence: str = ""
    repeated: tuple[str, ...] = ()

    @property
    def skips(self) -> bool:
        """Whether the requirement excludes the cell as skipped; a lost or damaged launch is never skipped."""
        if not self.absence or self.target.damaged:
            return False
        return self.target.requirement.measured_only or not self.target.applies

    @property
    def p(self) -> float | None:
        """The p-value over all looks; None if the cell is not tested."""
        return None if self.estimate is None or self.invalid else self.estimate.p


def judge(
    table: pl.DataFrame, requirements: Requirements, facts: CampaignFacts, context: CampaignContext | None = None
) -> Judgement:
    """Returns one verdict for each cell of each requirement; a pure function, independent of the order of rows.

    Definition, per cell. INVALID: a launch of the numerator or denominator failed by itself, is refuted or is unknown;
    or a block has no value; or more launches were lost than the requirement allows; or a ratio is not a number; or the
    values come from a profile that may not be used (``verdict.profiles``).
    INCONCLUSIVE: the cell was planned and not measured. Otherwise the values of the last completed look of
    ``facts.looks`` give an order-statistics interval at the level of that look, and a one-sided sign-test p-value over
    all looks; Benjamini-Hochberg computes q-values from the p-values of all cells. PASS: the whole interval is within
    the bounds and q <= alpha. FAIL: the whole interval is beyond a bound and q <= alpha. INCONCLUSIVE: anything else.
    Assumptions: blocks are independent; cells are independent or positively dependent.
    Error: of all claims, PASS and FAIL together, an expected share of at most ``facts.alpha`` is wrong.
    Source: see stats.interval, stats.spending, stats.multiple.
    """
    if not requirements.items:
        raise BadInput("no requirements", where=requirements.path, expected="at least one requirement")
    context = context or CampaignContext()
    plan = schedule(facts.looks, facts.alpha)
    drafts, skipped = _drafts(requirements, judged_series(table), context, plan)
    decidable = [draft for draft in drafts if draft.p is not None]
    q = q_values([draft.p for draft in decidable if draft.p is not None])
    by_name = {draft.target.name: value for draft, value in zip(decidable, q, strict=True)}
    skip_counts = Counter(one.requirement for one in skipped)
    cells = tuple(
        replace(
            _cell(draft, by_name.get(draft.target.name), len(decidable), plan),
            skipped=skip_counts[draft.target.requirement.id],
            removed=context.removed,
            loaded=sum(context.foreign_load.get(name, 0.0) > FOREIGN_LOAD for name in draft.launches),
            targets=_different({context.targets[name] for name in draft.launches if name in context.targets}),
        )
        for draft in drafts
    )
    blocks = table.filter(pl.col("mode") == "timed")["block"].n_unique()
    return Judgement(
        cells, tuple(facts.looks), blocks, facts.alpha, exit_status(cells), tuple(skipped), context.requirements_file
    )


def _different(targets: Collection[str]) -> tuple[str, ...]:
    """Returns what the programs of a cell were built for, in order; empty if it is the same."""
    return tuple(sorted(targets)) if len(targets) > 1 else ()


def exit_status(cells: Sequence[Cell]) -> int:
    """Returns 1 for any FAIL, else 4 for any INVALID, else 3 for any INCONCLUSIVE, else 0."""
    verdicts = {cell.verdict for cell in cells}
    worst_first: tuple[Verdict, ...] = ("FAIL", "INVALID", "INCONCLUSIVE")
    return next((EXIT_STATUS[verdict] for verdict in worst_first if verdict in verdicts), EXIT_STATUS["PASS"])


def _drafts(
    requirements: Requirements, series: Mapping[CellKey, Series], context: CampaignContext, plan: Schedule
) -> tuple[list[_Draft], list[SkippedCell]]:
    """Returns the cells of all requirements, and those that are excluded as skipped.

    A requirement with skipped cells only keeps them, so that it has a verdict.
    """
    drafts: list[_Draft] = []
    skipped: list[SkippedCell] = []
    for item in requirements.items:
        cells = targets(item, series, context.unmeasured)
        every = [_draft(target, series, plan, context.unusable_profiles) for target in cells]
        kept = [draft for draft in every if not draft.skips] or every
        drafts += kept
        if len(kept) < len(every):
            skipped += [SkippedCell(draft.target.name, item.id, draft.absence) for draft in every if draft.skips]
    return drafts, skipped


def _draft(
    target: Target, series: Mapping[CellKey, Series], plan: Schedule, unusable_profiles: Mapping[str, str]
) -> _Draft:
    item = target.requirement
    if target.measured is None:
        return _Draft(target, absence=target.absence)
    measured = series[target.measured]
    reference = None if target.reference is None else series[target.reference]
    both = [measured] if reference is None else [measured, reference]
    draft = _Draft(
        target,
        launches=_launches(both, measured.samples),
        repeated=tuple(dict.fromkeys(launch for one in both for _, launch in one.repeated)),
    )
    if invalid := (
        reasons.invalid(both)
        or _too_many_lost(item, both)
        or reasons.unusable_profile(unusable_profiles[name] for name in draft.launches if name in unusable_profiles)
    ):
        return replace(draft, invalid=invalid)
    if target.absence:
        return replace(draft, absence=target.absence)
    values = sample(measured, reference)
    if values.undefined:
        return replace(draft, launches=_launches(both, values.blocks), invalid=reasons.undefined(values.undefined))
    result = estimate(values, (item.lower, item.upper), plan)
    return replace(draft, estimate=result, launches=_launches(both, result.sample.blocks))


def _too_many_lost(item: Requirement, series: Sequence[Series]) -> str:
    """Returns why a cell has too many lost launches, over all its blocks; empty if it does not."""
    losses = sum(len(one.repeated) for one in series)
    launches = losses + sum(len(values) for one in series for values in one.samples.values())
    return reasons.too_many_lost(losses, launches, item.lost_at_most)


def _launches(series: Sequence[Series], blocks: Sequence[int] | Mapping[int, object]) -> tuple[str, ...]:
    """Returns the launches of these blocks, each once, in order."""
    return tuple(dict.fromkeys(name for one in series for name in one.launches(blocks)))


def _cell(draft: _Draft, q: float | None, tests: int, plan: Schedule) -> Cell:
    target, result = draft.target, draft.estimate
    item = target.requirement
    verdict, reason = _verdict(draft, q, tests, plan)
    interval = None if result is None else result.interval
    return Cell(
        name=target.name,
        requirement=item.id,
        text=item.text,
        lane=target.lane,
        against=target.against,
        tool=item.tool,
        benchmark=item.benchmark,
        metric=item.metric.name,
        msg_size_bytes=target.msg_size_bytes,
        verdict=verdict,
        reason=reason,
        bound=item.bound,
        unit=item.unit,
        estimate=None if interval is None else interval.estimate,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        n=0 if interval is None else interval.n,
        confidence=None if interval is None else interval.confidence,
        p_value=draft.p,
        q_value=q,
        mde=None if result is None else result.mde,
        launches=draft.launches,
        measured=target.measured,
        reference=target.reference,
        unmeasured=bool(target.absence),
        repeated=draft.repeated,
    )


def _verdict(draft: _Draft, q: float | None, tests: int, plan: Schedule) -> tuple[Verdict, str]:
    """Returns the verdict and its reason."""
    item = draft.target.requirement
    if draft.invalid:
        return "INVALID", draft.invalid
    result = draft.estimate
    if result is None:
        return "INCONCLUSIVE", draft.absence
    if q is None or result.look is None:
        return "INCONCLUSIVE", reasons.too_early(result.available, plan)
    direction = side(result.interval, (item.lower, item.upper))
    if direction and q <= plan.alpha * _SLACK and result.look.critical >= 0:
        return ("PASS" if direction > 0 else "FAIL"), reasons.decided(result, item, direction)
    return "INCONCLUSIVE", reasons.undecided(result, item, direction, q, tests, plan)
