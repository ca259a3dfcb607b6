# SPDX-License-Identifier: Apache-2.0
"""The judgement and the report of a campaign."""

import os
from pathlib import Path

import polars as pl

from fabricbench.campaign.read import known_names, read_campaign
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.launch.function_only import function_only_lanes, lane_names
from fabricbench.launch.record import Campaign
from fabricbench.launch.table import table as long_table
from fabricbench.site.requirements import Requirements, refuse_timing
from fabricbench.site.requirements_file import load_requirements
from fabricbench.verdict.judge import judge
from fabricbench.verdict.result import Judgement, campaign_context


def judgement_of(
    campaign: Campaign, path: Path, requirements_file: Path | None = None, table: pl.DataFrame | None = None
) -> Judgement | None:
    """The verdicts of the campaign at ``path``; None without requirements.

    ``requirements_file``: requirements that replace the campaign's own. ``table``: the campaign's long table, to save
    the time of computing it again.
    """
    requirements = _requirements(campaign, path, requirements_file)
    if requirements is None:
        return None
    around = campaign_context(campaign, "" if requirements_file is None else str(requirements_file))
    frame = long_table(campaign.records) if table is None else table
    return judge(frame, requirements, campaign.facts, around)


def report_page(
    campaign: Campaign,
    path: Path,
    requirements_file: Path | None = None,
    place: Path | None = None,
    reference: Path | None = None,
    recompute: bool = False,
) -> str:
    """The report of the campaign at ``path`` as HTML; its links are relative to the directory ``place``."""
    from fabricbench.campaign.operations import read_operations
    from fabricbench.campaign.profiles import read_rank_shares
    from fabricbench.campaign.provenance import read_provenance
    from fabricbench.report.page import report
    from fabricbench.verdict.attribution import attributions
    from fabricbench.verdict.profiles import profiles
    from fabricbench.verdict.sensitivity import sensitivities

    other = None if reference is None else read_provenance(reference, recompute=recompute)
    frame = long_table(campaign.records)
    judgement = judgement_of(campaign, path, requirements_file, frame)
    base = "" if place is None or place.resolve() == path.resolve() else os.path.relpath(path, place)
    records = {record.directory: record for record in campaign.records}
    return report(
        campaign,
        frame,
        judgement,
        provenance=read_provenance(path, campaign),
        reference=other,
        base=base,
        ranks_of=lambda directory: read_rank_shares(path, records[directory]),
        attributions=attributions(
            frame, campaign.records, lambda record: read_operations(path, record), campaign.facts.alpha
        ),
        sensitivities=sensitivities(
            frame, profiles(frame, campaign.records, campaign.facts.alpha), campaign.facts.alpha
        ),
    )


def decided(path: Path) -> bool:
    """Whether all verdicts of the campaign at ``path`` are decided, except those of cells without a launch."""
    judgement = judgement_of(read_campaign(path), path)
    measured = [cell for cell in judgement.cells if not cell.unmeasured] if judgement else []
    return bool(measured) and all(cell.verdict != "INCONCLUSIVE" for cell in measured)


def _requirements(campaign: Campaign, path: Path, file: Path | None) -> Requirements | None:
    """The requirements in the file ``file``, else the campaign's own.

    Raises BadInput for a name in ``file`` that neither the campaign nor its own requirements use, and for a requirement
    on times of lanes whose times are no measurements.
    """
    own = load_requirements(path / REQUIREMENTS, guarded=True) if os.path.lexists(path / REQUIREMENTS) else None
    requirements = own if file is None else load_requirements(file, known_names(campaign, own))
    function_only = function_only_lanes(campaign.records)
    if requirements is not None and function_only:
        refuse_timing(requirements, function_only, lane_names(campaign.records))
    return requirements
