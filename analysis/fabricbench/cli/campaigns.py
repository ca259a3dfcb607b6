# SPDX-License-Identifier: Apache-2.0
"""The campaigns that commands work on: which one is meant, its verdicts, its report, how it ended."""

import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import typer

from fabricbench.campaign.provenance import read_provenance
from fabricbench.campaign.read import known_names, read_campaign, read_facts
from fabricbench.cli.output import say
from fabricbench.errors import BadInput
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.launch.record import LOST_STATES, Campaign, Record
from fabricbench.launch.table import table as long_table
from fabricbench.report import report as page
from fabricbench.runner.plan import PLAN_FIELDS, is_complete
from fabricbench.site.requirements import Requirements, load
from fabricbench.site.settings import REPOSITORY
from fabricbench.verdict.judge import judge as judge_table
from fabricbench.verdict.result import Judgement, beside

NOT_ALL_ATTESTED = 1


def unfinished(asked: Mapping[str, object]) -> Path | None:
    """The newest campaign that was asked for in the same words (``runner.plan.PLAN_FIELDS``) and interrupted."""
    for path in sorted((REPOSITORY / "campaigns").glob(f"{asked['tier']}-*"), reverse=True):
        if os.path.lexists(path / "campaign.json") and not is_complete(path):
            try:
                facts = read_facts(path)
            except BadInput as error:
                print(f"fabricbench: left alone: {error}", file=sys.stderr)
                continue
            if all(getattr(facts, key) == asked[key] for key in PLAN_FIELDS):
                return path
    return None


def new_campaign(tier: str) -> Path:
    """Where a campaign goes that was given no directory."""
    return REPOSITORY / "campaigns" / f"{tier}-{time.strftime('%Y%m%dT%H%M%S')}"


def _requirements(found: Campaign, path: Path, given: Path | None) -> Requirements | None:
    """The campaign's own, or those given, whose names must be names that the campaign or its own requirements use."""
    own = load(path / REQUIREMENTS, guarded=True) if os.path.lexists(path / REQUIREMENTS) else None
    return own if given is None else load(given, known_names(found, own))


def judgement_of(found: Campaign, path: Path, given: Path | None = None) -> Judgement | None:
    """The verdicts of the campaign at ``path``, by its own requirements or those given; None without any."""
    requirements = _requirements(found, path, given)
    if requirements is None:
        return None
    around = beside(found, "" if given is None else str(given))
    return judge_table(long_table(found.records), requirements, found.facts, around)


def report_page(
    found: Campaign,
    path: Path,
    given: Path | None = None,
    place: Path | None = None,
    reference: Path | None = None,
    recompute: bool = False,
) -> str:
    """The report of the campaign at ``path``, whose links lead to it from the directory ``place``."""
    other = None if reference is None else read_provenance(reference, recompute=recompute)
    judgement = judgement_of(found, path, given)
    base = "" if place is None or place.resolve() == path.resolve() else os.path.relpath(path, place)
    seen = read_provenance(path, found)
    return page(found, long_table(found.records), judgement, seen=seen, reference=other, base=base)


def decided(path: Path) -> bool:
    """Whether every requirement that was measured has a verdict that further blocks would not change. Cells that no
    block measured do not keep a campaign going."""
    judgement = judgement_of(read_campaign(path), path)
    measured = [cell for cell in judgement.cells if not cell.unmeasured] if judgement else []
    return bool(measured) and all(cell.verdict != "INCONCLUSIVE" for cell in measured)


def finish(found: Campaign) -> None:
    """Exit 0 when every launch came back and was attested, whatever the verdicts."""
    last: dict[str, Record] = {r.launch.id if r.launch else r.directory: r for r in found.records}
    if all(r.launch is not None and r.launch.mode == "wireup" for r in last.values()):
        reasons = "; ".join(sorted({f"{skip.lane} {skip.tool}: {skip.reason}" for skip in found.skips}))
        raise BadInput(f"nothing was measured, there are only skips: {reasons}")
    wrong = [record for record in last.values() if record.state != "ok"]
    lanes_seen = sorted({r.launch.lane for r in last.values() if r.launch and r.state == "ok"})
    refused = sum(record.state == "ok" and record.attestation is None for record in last.values())
    skips = f"; {refused} more are skips, refused by their tool" if refused else ""
    came = len(last) - len(wrong) - refused
    say(f"{came} of {len(last)} launches came back and were attested, on {' '.join(lanes_seen)}{skips}")
    lost = sum(record.state in LOST_STATES for record in found.records)
    again = lost - sum(record.state in LOST_STATES for record in last.values())
    if again:
        say("1 launch was lost and repeated" if again == 1 else f"{again} launches were lost and repeated")
    for record in wrong[:20]:
        say(f"{record.state}: {record.directory}: {record.reason}")
    for (lane, problem), count in Counter(
        (r.launch.lane, r.binding.problem) for r in last.values() if r.launch and r.state == "ok" and r.binding.problem
    ).most_common(20):
        say(f"not bound as asked: {lane}: {problem}" + (f" ({count} launches)" if count > 1 else ""))
    if wrong:
        raise typer.Exit(NOT_ALL_ATTESTED)
