# SPDX-License-Identifier: Apache-2.0
"""The command ``fabricbench run``: checks the options, measures or forecasts a campaign, and prints the result."""

import os
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from fabricbench.campaign.read import read_campaign, read_facts
from fabricbench.campaign.removed import read_removed
from fabricbench.campaign.write import LOOKS
from fabricbench.cli.campaigns import decided, judgement_of, report_page
from fabricbench.cli.options import BAD_INPUT, INTERRUPTED, TERMINATED
from fabricbench.cli.output import print_judgement, print_problems, save, say, warn
from fabricbench.cli.tables import print_forecast
from fabricbench.errors import BadInput, nearest
from fabricbench.files.layout import FACTS
from fabricbench.launch.record import LOST_STATES, Campaign, Record
from fabricbench.processes.leftovers import Terminated, terminated_as_interrupted
from fabricbench.runner.campaign import run
from fabricbench.runner.forecast import forecast
from fabricbench.runner.plan import PLAN_FIELDS, Plan, is_complete
from fabricbench.site.settings import REPOSITORY, choose, lanes, settings_file

NOT_ALL_ATTESTED = 1
"""Exit status when a launch failed or was not attested."""

DEFAULT_TIER = "quick"
FORECAST_FORMATS = ("text", "csv", "json")
_SETTING = re.compile(r"(\w+\.)?[A-Za-z_]\w*=\S+", re.ASCII)
_NODE = re.compile(r"[\w.-]{1,200}", re.ASCII)
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class Options:
    """Options of ``fabricbench run`` that describe the campaign."""

    path: Path | None
    system: str
    tier: str | None
    lanes: tuple[str, ...]
    checks: tuple[str, ...]
    variables: tuple[str, ...]
    seed: int | None
    budget_minutes: float | None
    injected: tuple[str, ...] = ()
    """Levels of injected delays, as ``launch.injection.levels_of`` returns them."""
    scales: tuple[str, ...] = ()
    """Scales that replace those of the tier, ``4x8``."""
    without: tuple[str, ...] = ()
    """Nodes to take out of the campaign."""
    because: str = ""
    """The reason why the nodes are taken out."""

    def demand_valid(self, dry_run: bool, reference: Path | None, format: str) -> None:
        """Raises BadInput for an unknown name, a malformed setting, or options that need ``--dry-run``."""
        if self.tier is not None and self.tier not in LOOKS:
            raise BadInput(f"unknown tier '{self.tier}'", expected=nearest(self.tier, LOOKS))
        if not dry_run and (reference or format != "text"):
            raise BadInput("--reference and --format belong to a dry run", expected="--dry-run")
        if format not in FORECAST_FORMATS:
            raise BadInput(f"unknown format '{format}'", expected=nearest(format, FORECAST_FORMATS))
        settings_file(self.system)
        if self.lanes:
            choose(lanes(self.system), self.lanes)
        if bool(self.without) != bool(self.because.strip()):
            raise BadInput(
                "a node is taken out with a reason", where="--without", expected="--without NODE --because TEXT"
            )
        for node in self.without:
            if not _NODE.fullmatch(node):
                raise BadInput(f"'{node[:80]}'", where="--without", expected="the name of a node, such as n3")
        for text in self.variables:
            if not _SETTING.fullmatch(text):
                raise BadInput(f"'{text[:80]}'", where="--set", expected="[CHECK.]VARIABLE=VALUE, without blanks")

    def plan(self, *, quiet: bool) -> Plan:
        """The plan of the campaign. Omitted options have the values of the campaign to continue, if there is one."""
        tier = self.tier or DEFAULT_TIER
        path = self.path or self._unfinished(tier, quiet) or new_campaign(tier)
        facts = read_facts(path) if os.path.lexists(path / FACTS) else None
        if facts is not None and self.seed not in (None, facts.seed):
            what = f"--seed {self.seed} differs from the campaign's seed {facts.seed}"
            raise BadInput(what, where=str(path), hint="omit --seed")
        return Plan(
            path=path,
            system=self.system,
            tier=self.tier or (facts.tier if facts else tier),
            seed=self.seed if self.seed is not None else time.time_ns() % 2**31,
            lanes=self.lanes or (facts.lanes if facts else ()),
            checks=self.checks or (facts.checks if facts else ()),
            variables=self.variables or (facts.variables if facts else ()),
            budget_seconds=None if self.budget_minutes is None else self.budget_minutes * 60,
            decided=decided,
            injected=self.injected or (facts.injected if facts else ()),
            scales=self.scales or (facts.scales if facts else ()),
            without=self.without,
            because=" ".join(self.because.split()),
            removed=tuple(one.node for one in read_removed(path)) if facts else (),
        )

    def _unfinished(self, tier: str, quiet: bool) -> Path | None:
        request: dict[str, object] = {"system": self.system, "tier": tier, "lanes": self.lanes, "checks": self.checks}
        more = {"variables": self.variables, "injected": self.injected, "scales": self.scales}
        path = unfinished(request | more)
        if path and not quiet:
            say(f"continuing {path}")
        return path


def print_plan(options: Options, reference: Path | None, format: str) -> None:
    """Prints the forecast of a campaign, and starts nothing."""
    foreseen = forecast(options.plan(quiet=format != "text"), reference)
    print_forecast(foreseen, format)
    if print_problems(foreseen.problems, quiet=format != "text"):
        raise typer.Exit(BAD_INPUT)


def measure(options: Options, report: bool) -> None:
    """Measures a campaign, prints its verdicts, and with ``report`` writes the report."""
    plan = options.plan(quiet=False)
    path = plan.path
    try:
        with terminated_as_interrupted():
            run(plan)
    except KeyboardInterrupt as error:
        warn(f"{str(error) or 'interrupted'}; run the same command again to continue {path}")
        raise typer.Exit(TERMINATED if isinstance(error, Terminated) else INTERRUPTED) from None
    campaign = read_campaign(path)
    print_judgement(judgement_of(campaign, path))
    if report:
        save(path / "report.html", report_page(campaign, path), hint=f"fabricbench report {path} --output FILE")
        say(f"report: {path / 'report.html'}")
    finish(campaign)


def unfinished(request: Mapping[str, object]) -> Path | None:
    """The newest interrupted campaign in ``campaigns/`` that was started with the same options, those of
    ``runner.plan.PLAN_FIELDS``."""
    for path in sorted((REPOSITORY / "campaigns").glob(f"{request['tier']}-*"), reverse=True):
        if os.path.lexists(path / FACTS) and not is_complete(path):
            try:
                facts = read_facts(path)
            except BadInput as error:
                warn(f"cannot be continued: {error}")
                continue
            if all(getattr(facts, key) == request[key] for key in PLAN_FIELDS):
                return path
    return None


def new_campaign(tier: str) -> Path:
    """The directory of a new campaign if the user names none."""
    return REPOSITORY / "campaigns" / f"{tier}-{time.strftime('%Y%m%dT%H%M%S')}"


def finish(campaign: Campaign) -> None:
    """Prints how the launches ended. Exit status 0 if all completed and were attested, whatever the verdicts, else 1.

    A launch that was lost and repeated counts once, with its last attempt.
    """
    last = {record.launch.id if record.launch else record.directory: record for record in campaign.records}
    records = list(last.values())
    if all(record.launch is not None and record.launch.mode == "wireup" for record in records):
        reasons = "; ".join(sorted({f"{skip.lane} {skip.tool}: {skip.reason}" for skip in campaign.skips}))
        raise BadInput(f"nothing was measured, everything was skipped: {reasons}")
    failures = [record for record in records if record.state != "ok"]
    _print_attested(records, len(failures))
    losses = sum(record.state in LOST_STATES for record in campaign.records)
    repeated = losses - sum(record.state in LOST_STATES for record in records)
    if repeated:
        say("1 launch was lost and repeated" if repeated == 1 else f"{repeated} launches were lost and repeated")
    for record in failures[:_MOST_LISTED]:
        say(f"{record.state}: {record.directory}: {record.reason}")
    _print_bindings(records)
    if failures:
        raise typer.Exit(NOT_ALL_ATTESTED)


def _print_attested(records: list[Record], failures: int) -> None:
    """Prints how many launches were attested, on which lanes, and how many their tool refused to run."""
    names = sorted({record.launch.lane for record in records if record.launch and record.state == "ok"})
    refused = sum(record.state == "ok" and record.attestation is None for record in records)
    skipped = f"; {refused} more were skipped, because their tool refused to run" if refused else ""
    attested = len(records) - failures - refused
    say(f"{attested} of {len(records)} launches completed and were attested, on {' '.join(names)}{skipped}")


def _print_bindings(records: list[Record]) -> None:
    """Prints the most frequent differences between the requested and the actual binding."""
    problems = Counter(
        (record.launch.lane, record.binding.problem)
        for record in records
        if record.launch and record.state == "ok" and record.binding.problem
    )
    for (lane, problem), count in problems.most_common(_MOST_LISTED):
        say(f"not bound as requested: {lane}: {problem}" + (f" ({count} launches)" if count > 1 else ""))
