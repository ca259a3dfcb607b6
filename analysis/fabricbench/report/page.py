# SPDX-License-Identifier: Apache-2.0
"""The report: one self-contained HTML page. The same campaign, table and judgement give the same page."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import polars as pl
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from fabricbench.launch.function_only import function_only_reasons, function_only_text
from fabricbench.launch.provenance import Provenance
from fabricbench.launch.record import Campaign
from fabricbench.report import facets, groups, outcomes
from fabricbench.report.applications import applications
from fabricbench.report.attestation import attestation, lanes_attested
from fabricbench.report.attribution import ACCEPTABLE, EFFICIENCY_NAMES, PART_COLUMNS, attribution_views
from fabricbench.report.codes import codes_view
from fabricbench.report.collectives import scales_view
from fabricbench.report.comparisons import estimators, ratios
from fabricbench.report.families import families
from fabricbench.report.formatting import clean, instant, percent, unit
from fabricbench.report.links import Launches
from fabricbench.report.loggp import loggp_views
from fabricbench.report.nodes import nodes, of_pairs
from fabricbench.report.profiles import RanksOf, profile_views
from fabricbench.report.provenance import provenance_view
from fabricbench.report.sensitivity import Sensitivity, sensitivity_views
from fabricbench.report.style import lane_styles
from fabricbench.report.user_level import user_level
from fabricbench.report.verdicts import verdicts
from fabricbench.report.weak_scaling import weak_rows
from fabricbench.verdict.attribution import Attributions
from fabricbench.verdict.built_for import different_targets
from fabricbench.verdict.coverage import coverage
from fabricbench.verdict.curves import FOR_ATTRIBUTION
from fabricbench.verdict.profiles import DILATION, profiles
from fabricbench.verdict.result import FOREIGN_LOAD, Judgement
from fabricbench.verdict.series import all_series

_TEMPLATES = resources.files("fabricbench.report") / "templates"


def report(
    campaign: Campaign,
    table: pl.DataFrame,
    judgement: Judgement | None,
    *,
    provenance: Provenance | None = None,
    reference: Provenance | None = None,
    base: str = "",
    ranks_of: RanksOf | None = None,
    attributions: Attributions | None = None,
    sensitivities: Sequence[Sensitivity] = (),
) -> str:
    """The page as one HTML document that loads no other file; the same arguments give the same bytes.

    ``provenance``: the campaign with the facts of its nodes and MPI libraries, if they are known; ``reference``:
    another campaign, for the differences from it; ``base``: path from the page's directory to the campaign's
    directory, empty if they are the same; ``ranks_of``: reads the time in MPI by rank of a launch; ``attributions``,
    ``sensitivities``: of the campaign's profiled applications, and of those with injected delays.
    """
    launches = Launches(campaign, base)
    addresses = {name: hosts[-1].topology_address for name, hosts in provenance.hosts.items()} if provenance else {}
    alpha = judgement.alpha if judgement else campaign.facts.alpha
    return _environment().get_template("page.html.j2").render(
        campaign=campaign,
        made=instant(campaign.facts.created),
        css=_inline("report.css"),
        script=_inline("report.js"),
        script_hash=_hash(_inline("report.js")),
        verdicts=verdicts(judgement, launches, lanes_attested(campaign.records)),
        judged=judgement,
        attestation=attestation(campaign.records, launches),
        alpha=alpha,
        skipped=outcomes.skipped(campaign.skips),
        troubles=outcomes.troubles(campaign.records, launches),
        binding_problems=outcomes.binding_problems(campaign.records, launches),
        states=outcomes.states(campaign.records),
        launches=outcomes.rows(campaign.records, launches),
        foreign=FOREIGN_LOAD,
        function_only=function_only_text(campaign.records),
        function_only_reasons=function_only_reasons(campaign.records),
        provenance=provenance_view(provenance or Provenance(campaign), launches, reference),
        profiles=profile_views(profiles(table, campaign.records, alpha), launches, ranks_of),
        most_dilation=percent(DILATION - 1, 2),
        attributions=attribution_views(attributions, 1 - alpha),
        acceptable=ACCEPTABLE,
        sensitivities=sensitivity_views(sensitivities, 1 - alpha),
        efficiency_names=EFFICIENCY_NAMES,
        part_columns=PART_COLUMNS,
        coverage=coverage(campaign.records, campaign.removed), removed=campaign.removed,
        different_targets=different_targets(campaign.records),
        **_figures(table, alpha, addresses),
    ) + "\n"  # fmt: skip


def _figures(
    table: pl.DataFrame, alpha: float, addresses: Mapping[str, str | None] = MappingProxyType({})
) -> dict[str, Any]:
    """The sections with figures, by the names that the templates use.

    Rows of node pairs are only in ``nodes``, curves for attributions in none. ``addresses``: Slurm's topology address
    of each node.
    """
    pairs = nodes(table, 1 - alpha, addresses)
    of_attributions = pl.col("case").str.split(" ").list.contains(FOR_ATTRIBUTION)
    table = table.filter(~of_pairs() & ~of_attributions)
    cells = all_series(table)
    styles = lane_styles(facets.lanes(table))
    panels = facets.panels(table, 1 - alpha, cells)
    curves, tool = groups.curves(panels, styles)
    return {
        "curves": curves,
        "curves_tool": tool,
        "confidence": f"{100 * (1 - alpha):g}",
        "least_blocks": facets.least_blocks(1 - alpha),
        "other_tools": groups.other_tools(panels, styles),
        "single": [
            (
                facets.describe(p.facet),
                p.metric.replace("_", " "),
                unit(p.unit),
                groups.numbers(p, lambda lane: lane.name),
            )
            for p in facets.unsized(panels)
        ],
        "families": families(panels, styles),
        "loggp": loggp_views(table, 1 - alpha, cells),
        "scales": scales_view(cells, styles, 1 - alpha),
        "applications": applications(panels, styles, cells, 1 - alpha),
        "codes": codes_view(cells, alpha),
        "weak": weak_rows(cells, 1 - alpha),
        "ratios": ratios(table, panels, styles, alpha, cells),
        "estimators": estimators(table, styles, alpha, cells),
        "user_level": user_level(table, styles, alpha, cells),
        "nodes": pairs,
    }


@cache
def _inline(name: str) -> Markup:
    """A style sheet or script of the templates, to insert as it is."""
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def _hash(script: str) -> str:
    """The hash of the script, with which the page's security policy allows it to run, and no other script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _cleaned(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(lambda name: (_TEMPLATES / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_cleaned,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
