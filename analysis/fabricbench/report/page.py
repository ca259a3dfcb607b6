# SPDX-License-Identifier: Apache-2.0
"""The report: one self-contained HTML page, a pure function of the campaign, its table and its judgement."""

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

import polars as pl
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from fabricbench.launch.provenance import Provenance
from fabricbench.launch.record import Campaign
from fabricbench.report import groups, outcomes, series
from fabricbench.report.applications import applications
from fabricbench.report.attestation import attestation, lanes_attested
from fabricbench.report.comparisons import estimators, ratios
from fabricbench.report.families import families
from fabricbench.report.links import Launches
from fabricbench.report.loggp import loggp_views
from fabricbench.report.nodes import nodes, of_pairs
from fabricbench.report.provenance import provenance
from fabricbench.report.style import looks
from fabricbench.report.user_level import user_level
from fabricbench.report.verdicts import unit, verdicts
from fabricbench.report.words import clean, instant
from fabricbench.verdict.result import FOREIGN_LOAD, Judgement

_TEMPLATES = resources.files("fabricbench.report") / "templates"


def report(
    campaign: Campaign,
    table: pl.DataFrame,
    judgement: Judgement | None,
    *,
    seen: Provenance | None = None,
    reference: Provenance | None = None,
    base: str = "",
) -> str:
    """The page as one HTML document that loads nothing; the same input gives the same bytes.

    ``seen`` is the campaign with what its nodes and MPI libraries said, where that is known; ``reference`` another
    campaign, from which provenance names the differences. ``base`` is the way from the page's directory to the
    campaign's, empty when the page lies inside: launches link to their directories through it.
    """
    launches = Launches(campaign, base)
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
        skips=outcomes.skips(campaign.skips),
        troubles=outcomes.troubles(campaign.records, launches),
        bound_otherwise=outcomes.bound_otherwise(campaign.records, launches),
        states=outcomes.states(campaign.records),
        launches=outcomes.rows(campaign.records, launches),
        foreign=FOREIGN_LOAD,
        provenance=provenance(seen or Provenance(campaign), launches, reference),
        **_figures(table, alpha),
    ) + "\n"  # fmt: skip


def _figures(table: pl.DataFrame, alpha: float) -> dict[str, Any]:
    """The sections of drawings, by the names that the templates use; pairs of nodes have one of their own."""
    pairs = nodes(table, 1 - alpha)
    table = table.filter(~of_pairs())
    appearance = looks(series.lanes(table))
    found = series.panels(table, 1 - alpha)
    curves, tool = groups.curves(found, appearance)
    return {
        "curves": curves,
        "curves_tool": tool,
        "confidence": f"{100 * (1 - alpha):g}",
        "least_blocks": series.least_blocks(1 - alpha),
        "collectives": groups.collectives(found, appearance),
        "single": [
            (
                series.describe(p.facet),
                p.metric.replace("_", " "),
                unit(p.unit),
                groups.numbers(p, lambda lane: lane.name),
            )
            for p in series.unsized(found)
        ],
        "families": families(found, appearance),
        "loggp": loggp_views(table, 1 - alpha),
        "applications": applications(found, appearance),
        "ratios": ratios(table, found, appearance, alpha),
        "estimators": estimators(table, appearance, alpha),
        "user_level": user_level(table, appearance, alpha),
        "nodes": pairs,
    }


@cache
def _inline(name: str) -> Markup:
    """A file of ours that stands inside the page as it is."""
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def _hash(script: str) -> str:
    """What the page's own policy allows to run: this script and no other."""
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
