# SPDX-License-Identifier: Apache-2.0
"""The result of a judgement: one cell per requirement, lane and size."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fabricbench.launch.record import Campaign, RemovedNode, Unmeasured
from fabricbench.launch.table import table
from fabricbench.verdict.profiles import profiles
from fabricbench.verdict.series import CellKey

Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE", "INVALID"]

EXIT_STATUS: dict[Verdict, int] = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3, "INVALID": 4}
"""Exit statuses of ``judge``. A FAIL has precedence over an INVALID, and this over an INCONCLUSIVE."""


FOREIGN_LOAD = 0.1
"""A launch with a foreign load above this share of the processors is marked."""


@dataclass(frozen=True, slots=True)
class CampaignContext:
    """The facts of a campaign that a judgement needs in addition to the table.

    ``unmeasured``: planned rows without a value. ``foreign_load``: by launch, the share of the processors that other
    programs kept busy, 0 to 1. ``requirements_file``: the file that replaces the campaign's own requirements, or empty.
    ``unusable_profiles``: by profiled launch, the reason why its profile may not be used. ``targets``: by launch, what
    its program was built for, if that is known. ``removed``: the nodes that were taken out of the campaign.
    """

    unmeasured: tuple[Unmeasured, ...] = ()
    foreign_load: Mapping[str, float] = field(default_factory=dict)
    requirements_file: str = ""
    unusable_profiles: Mapping[str, str] = field(default_factory=dict)
    targets: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[RemovedNode, ...] = ()


def campaign_context(campaign: Campaign, requirements_file: str = "") -> CampaignContext:
    """Returns the facts of this campaign that a judgement needs in addition to the table."""
    shares = {r.directory: r.foreign_cpu_share for r in campaign.records}
    loads = {name: share for name, share in shares.items() if share is not None}
    targets = {r.directory: r.launch.target.text for r in campaign.records if r.launch and r.launch.target}
    reasons = _unusable_profiles(campaign)
    return CampaignContext(campaign.unmeasured, loads, requirements_file, reasons, targets, campaign.removed)


def _unusable_profiles(campaign: Campaign) -> dict[str, str]:
    """Returns by profiled launch the state of its profile with the reasons, for the profiles that are not usable."""
    if not any(record.launch and record.launch.mode == "profiled" for record in campaign.records):
        return {}
    summaries = profiles(table(campaign.records), campaign.records, campaign.facts.alpha)
    return {
        launch: f"{one.state}: {'; '.join(one.reasons)}"
        for one in summaries
        if one.state != "usable"
        for launch in one.launches
    }


@dataclass(frozen=True, slots=True)
class Cell:
    """One verdict.

    ``name``: stable and unique ("shm-latency/mpich@shm/8"). ``estimate``, ``low``, ``high``: in ``unit``, None without
    an estimate. ``n``: number of launches, or of blocks that pair two lanes. ``confidence``: coverage of the interval.
    ``p_value``: one-sided against the bound, over all planned looks. ``q_value``: after Benjamini-Hochberg over all
    tested cells. ``mde``: the smallest relative effect that n launches detect with power 0.8. ``launches``: the
    launches used. ``measured``, ``reference``: the table's cells for numerator and denominator. ``unmeasured``: one of
    them has no launch, and further blocks would not change that. ``skipped``: number of cells of the requirement that
    were not measured and are excluded. ``loaded``: number of ``launches`` with foreign load. ``repeated``: launches
    that were lost and repeated within their block. ``targets``: what the programs of the launches were built for, if
    they differ. ``removed``: the nodes that were taken out of the campaign.
    """

    name: str
    requirement: str
    text: str
    lane: str
    against: str | None
    tool: str
    benchmark: str
    metric: str
    msg_size_bytes: int | None
    verdict: Verdict
    reason: str
    bound: str
    unit: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    confidence: float | None
    p_value: float | None
    q_value: float | None
    mde: float | None
    launches: tuple[str, ...]
    measured: CellKey | None = None
    reference: CellKey | None = None
    unmeasured: bool = False
    skipped: int = 0
    loaded: int = 0
    repeated: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    removed: tuple[RemovedNode, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of the verdict, each a short text."""
        cells = "cells" if self.skipped > 1 else "cell"
        skipped = f"{self.skipped} {cells} not measured and skipped" if self.skipped else ""
        loaded = f"{self.loaded} of {len(self.launches)} launches with foreign load above {100 * FOREIGN_LOAD:.0f} %"
        several = "es" if len(self.repeated) > 1 else ""
        repeated = f"{len(self.repeated)} lost launch{several} repeated" if self.repeated else ""
        built = f"built for different processors: {' and '.join(self.targets)}" if self.targets else ""
        without = (one.note for one in self.removed)
        return tuple(note for note in (skipped, loaded if self.loaded else "", repeated, built, *without) if note)


@dataclass(frozen=True, slots=True)
class SkippedCell:
    """A cell that was not measured and that its requirement excludes, with the reason."""

    name: str
    requirement: str
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """All cells of a campaign in the order of the requirements, and the skipped cells.

    ``exit_status``: as in ``EXIT_STATUS``. ``requirements_file``: as in ``CampaignContext``.
    """

    cells: tuple[Cell, ...]
    looks: tuple[int, ...]
    blocks: int
    alpha: float
    exit_status: int
    skipped: tuple[SkippedCell, ...] = ()
    requirements_file: str = ""
