# SPDX-License-Identifier: Apache-2.0
"""The commands. Exit status 2 is wrong use or bad input, everywhere."""

import errno
import re
import sys
import time
from os.path import lexists
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.campaign.provenance import read_provenance
from fabricbench.campaign.read import read_campaign, read_facts
from fabricbench.campaign.write import LOOKS
from fabricbench.cli.campaigns import decided, finish, judgement_of, new_campaign, report_page, unfinished
from fabricbench.cli.output import (
    Format,
    Output,
    print_forecast,
    print_judged_by,
    print_judgement,
    print_problems,
    save,
    say,
    write,
)
from fabricbench.doctor.lanes import examine, examine_site
from fabricbench.errors import BadInput, nearest
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.inputs.cache import cache_root
from fabricbench.inputs.recipes import SYSTEMS, checked_copies
from fabricbench.inputs.recipes import system as gromacs_system
from fabricbench.launch.table import table as long_table
from fabricbench.processes.leftovers import Terminated, terminated_as_interrupted
from fabricbench.report import differences as unlike
from fabricbench.report import lane_curves_svg
from fabricbench.runner.forecast import forecast
from fabricbench.runner.plan import Plan
from fabricbench.runner.run import run as run_campaign
from fabricbench.setup.gromacs.build import build as build_inputs
from fabricbench.setup.spack import examine_spack, set_up_views, views_in
from fabricbench.setup.stacks import set_up, set_up_input
from fabricbench.site.settings import REPOSITORY, build_root, choose, lanes, no_blanks, settings_file, site_root
from fabricbench.site.stacks import site_stacks
from fabricbench.verdict.compare import compare as compare_lanes
from fabricbench.verdict.compare import measured_on_neither
from fabricbench.verdict.explain import explain
from fabricbench.verdict.propose import propose as propose_requirements
from fabricbench.verdict.result import beside
from fabricbench.verdict.survey import as_frame, survey

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Compares MPI stacks on interconnects, proves which transport carried the bytes, judges machines.",
)

CampaignPath = Annotated[Path, typer.Argument(help="the campaign's directory", show_default=False)]
Reference = Annotated[
    Path | None, typer.Option(help="another campaign: how nodes, stacks and settings differ", show_default=False)
]
Recompute = Annotated[
    bool, typer.Option("--recompute", help="derive every record from the campaign's files, use no cache")
]
System = Annotated[str, typer.Option(help="a folder under site/")]
NamedLanes = Annotated[list[str] | None, typer.Option("--lane", help="only this lane, stack@fabric; repeatable")]

DEFAULT_TIER = "quick"
FORECAST_FORMATS = ("text", "csv", "json")
TO_LOOK_AT = 1
BAD_INPUT = 2
_USER_CAN_MEND = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
INTERRUPTED, TERMINATED = 130, 143


@app.command()
def setup(
    stack: Annotated[list[str] | None, typer.Argument(help="only these stacks")] = None,
    again: Annotated[bool, typer.Option("--again", help="even where it is set up already")] = False,
    for_tests: Annotated[bool, typer.Option("--for-tests", help="also what only the tests need")] = False,
    spack: Annotated[
        Path | None, typer.Option(help="take the stacks from Spack's views in this directory", show_default=False)
    ] = None,
) -> None:
    """Find or install the stacks and build the benchmarks on each; repeat it as often as you like."""
    no_blanks(REPOSITORY, "the path of this checkout")
    no_blanks(build_root(), "the path of the build directory")
    known = site_stacks(site_root())
    chosen = stack or (views_in(spack) if spack else [name for name in known if not known[name].only_spack])
    for name in chosen:
        if name not in known:
            raise BadInput(f"unknown stack '{name}'", expected=nearest(name, known))
    stacks = [known[name] for name in chosen]
    if spack is not None:
        problems = set_up_views(stacks, spack.absolute(), say)
    else:
        problems = set_up(stacks, say, again=again, for_tests=for_tests)
    for problem in problems:
        print(f"fabricbench: not set up: {problem}", file=sys.stderr)
    if len(problems) == len(chosen):
        raise BadInput("no stack could be set up")
    if not (stack or spack or for_tests) and (problem := set_up_input(say)):
        print(f"fabricbench: not set up: {problem}", file=sys.stderr)
    say(f"set up; for reframe and fabricbench as typed: source {build_root()}/env.sh")


@app.command()
def inputs(
    name: Annotated[list[str] | None, typer.Argument(help="villin, lzm, dppc; none is all three")] = None,
    copies: Annotated[int, typer.Option(help="1 to 8 copies of each, side by side, for bigger machines")] = 1,
    directory: Annotated[Path | None, typer.Option(help="else build/inputs/gromacs")] = None,
) -> None:
    """Make the GROMACS inputs, and check that each is what it should be; what is there is not made again."""
    wanted = [gromacs_system(item) for item in dict.fromkeys(name or SYSTEMS)]
    root = directory.resolve() if directory else cache_root()
    try:
        build_inputs(wanted, checked_copies(copies), root, say)
    except KeyboardInterrupt:
        print("fabricbench: interrupted; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


@app.command()
def doctor(
    system: System = "local",
    site: Annotated[bool, typer.Option("--site", help="check the site's files instead of the lanes")] = False,
    spack: Annotated[bool, typer.Option("--spack", help="look at what the site takes from Spack instead")] = False,
    lane: NamedLanes = None,
) -> None:
    """Which lanes can run here, and for each that cannot, why and the hint."""
    if spack:
        found = list(examine_spack(system))
        for stack in found:
            say(f"{stack.name:16}{'ready' if stack.ready else 'NOT READY':11}{stack.detail}")
        raise typer.Exit(not any(stack.ready for stack in found))
    if site:
        _examine_site(system, [item.name for item in choose(lanes(system), lane)] if lane else [])
        return
    ready = 0
    for finding in examine(choose(lanes(system), lane or ())):
        ready += finding.ready
        state = "ready" if finding.ready else "NOT READY"
        say(f"{finding.lane:16}{state:11}{finding.detail}" + (f"; hint: {finding.hint}" if finding.hint else ""))
    if not ready:
        raise typer.Exit(1)


@app.command()
def run(
    campaign: Annotated[Path | None, typer.Argument(help="directory; else a new one, or the interrupted one")] = None,
    system: System = "local",
    tier: Annotated[
        str | None, typer.Option(help="quick (the default): 6 blocks; standard, acceptance: looks at 8, 15, 30")
    ] = None,
    lane: NamedLanes = None,
    check: Annotated[list[str] | None, typer.Option(help="only this check, by its class; repeatable")] = None,
    variable: Annotated[
        list[str] | None, typer.Option("--set", help="[CHECK.]VARIABLE=VALUE, as MicroPingpong.port=eth1; repeatable")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="of the order within blocks")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="minutes that this command may measure")] = None,
    report: Annotated[bool, typer.Option("--report", help="write the report when done")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="start nothing: list launches, skips, wall time, node-hours")
    ] = False,
    reference: Annotated[
        Path | None,
        typer.Option(help="of a dry run: an earlier campaign, whose times are expected", show_default=False),
    ] = None,
    format: Annotated[str, typer.Option("--format", "-f", help="of a dry run: text, csv or json")] = "text",
) -> None:
    """A campaign: blocks until every requirement is decided or the budget is spent; resumes after a kill."""
    if tier is not None and tier not in LOOKS:
        raise BadInput(f"unknown tier '{tier}'", expected=nearest(tier, LOOKS))
    if not dry_run and (reference or format != "text"):
        raise BadInput("--reference and --format belong to a dry run", expected="--dry-run")
    if format not in FORECAST_FORMATS:
        raise BadInput(f"unknown format '{format}'", expected=nearest(format, FORECAST_FORMATS))
    settings_file(system)
    chosen = tuple(item.name for item in choose(lanes(system), lane or ())) if lane else ()
    wanted, checks, variables = tier or DEFAULT_TIER, tuple(check or ()), tuple(variable or ())
    for text in variables:
        if not re.fullmatch(r"(\w+\.)?[A-Za-z_]\w*=\S+", text, re.ASCII):
            raise BadInput(f"'{text[:80]}'", where="--set", expected="[CHECK.]VARIABLE=VALUE, without blanks")
    asked = {"system": system, "tier": wanted, "lanes": chosen, "checks": checks, "variables": variables}
    found = None if campaign else unfinished(asked)
    if found and format == "text":
        say(f"going on with {found}")
    path = campaign or found or new_campaign(wanted)
    made = read_facts(path) if lexists(path / "campaign.json") else None
    if made is not None and seed not in (None, made.seed):
        raise BadInput(f"this campaign's seed is {made.seed}", where=str(path), hint="leave --seed out")
    plan = Plan(
        path=path,
        system=system,
        tier=tier or (made.tier if made else wanted),
        seed=seed if seed is not None else time.time_ns() % 2**31,
        lanes=made.lanes if made and not lane else chosen,
        checks=made.checks if made and not check else checks,
        variables=made.variables if made and not variable else variables,
        budget_seconds=None if budget is None else budget * 60,
        decided=decided,
    )
    if dry_run:
        foreseen = forecast(plan, reference)
        print_forecast(foreseen, format)
        if print_problems(foreseen.problems, quiet=format != "text"):
            raise typer.Exit(BAD_INPUT)
        return
    try:
        with terminated_as_interrupted():
            run_campaign(plan)
    except KeyboardInterrupt as error:
        print(
            f"fabricbench: {str(error) or 'interrupted'}; run the same command again to continue {path}",
            file=sys.stderr,
        )
        raise typer.Exit(TERMINATED if isinstance(error, Terminated) else INTERRUPTED) from None
    ended = read_campaign(path)
    print_judgement(judgement_of(ended, path))
    if report:
        save(path / "report.html", report_page(ended, path), hint=f"fabricbench report {path} --output FILE")
        say(f"report: {path / 'report.html'}")
    finish(ended)


@app.command()
def table(
    campaign: CampaignPath,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """The long table, one row per value."""
    write(long_table(read_campaign(campaign, recompute=recompute).records), format, output)


@app.command()
def record(
    campaign: CampaignPath,
    launch: Annotated[str, typer.Argument(help="as the table names it: its directory below launches/")],
    recompute: Recompute = False,
) -> None:
    """The record of one launch as JSON: its state, the evidence of its attestation, its rows."""
    records = {found.directory: found for found in read_campaign(campaign, recompute=recompute).records}
    if launch not in records:
        raise BadInput(f"no launch '{launch}'", where=str(campaign), expected=nearest(launch, records))
    print(records[launch].model_dump_json(indent=1))


@app.command()
def compare(
    campaign: CampaignPath,
    lane: Annotated[str, typer.Argument(help="stack@fabric")],
    other: Annotated[str, typer.Argument(help="the lane that it is divided by")],
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """One lane against another, paired by block, over the whole curve."""
    found = read_campaign(campaign, recompute=recompute)
    frame = compare_lanes(long_table(found.records), lane, other, unmeasured=found.unmeasured)
    write(frame, format, output)
    if format == "text":
        for line in measured_on_neither(found.unmeasured, lane, other):
            say(line)


@app.command()
def nodes(
    campaign: CampaignPath,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Nodes, and pairs of nodes, that are slower than the others. Exit 0 none is named, 1 there is one to look at."""
    found = survey(long_table(read_campaign(campaign, recompute=recompute).records))
    if not found.matrices:
        raise BadInput(
            "no pairs of nodes were measured",
            where=str(campaign),
            expected="attested launches of pair_latency or pair_bandwidth",
            hint="fabricbench run --check PairLatency --check PairBandwidth, on a fabric of several nodes",
        )
    frame = as_frame(found)
    if format != "text" or output is not None or not frame.is_empty():
        write(frame, format, output)
    if format == "text":
        nothing = ["no node and no pair is named"] if frame.is_empty() and found.decidable else []
        for line in (*nothing, *found.notes):
            say(line)
    raise typer.Exit(TO_LOOK_AT if len(frame) else 0)


@app.command()
def provenance(
    campaign: CampaignPath,
    reference: Reference = None,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """What the nodes are; with --reference what differs between two campaigns, likeliest to matter first."""
    seen = read_provenance(campaign, recompute=recompute)
    if reference is None:
        write(unlike.told(seen.nodes), format, output)
        return
    other = read_provenance(reference, recompute=recompute)
    frame = unlike.as_frame(unlike.differences(seen, other))
    if format != "text" or output is not None or not frame.is_empty():
        write(frame, format, output)
    elif format == "text":
        say("no difference is known")
    if format == "text" and (missing := unlike.not_compared(seen, other)):
        say(f"told by the nodes of one campaign only, so not compared: {', '.join(missing)}")


@app.command()
def judge(
    campaign: CampaignPath,
    requirements: Annotated[Path | None, typer.Option(help="instead of the campaign's own")] = None,
    cell: Annotated[str | None, typer.Option("--explain", help="the way from the launches to one cell")] = None,
    propose: Annotated[bool, typer.Option("--propose", help="requirements that this campaign would meet")] = False,
    recompute: Recompute = False,
) -> None:
    """Verdicts. Exit 0 all PASS, 1 a FAIL, 3 INCONCLUSIVE, 4 INVALID (1 before 4 before 3)."""
    found = read_campaign(campaign, recompute=recompute)
    frame = long_table(found.records)
    if propose:
        print(propose_requirements(frame), end="")
        return
    judgement = judgement_of(found, campaign, requirements)
    if judgement is None:
        raise BadInput("no requirements", where=str(campaign), expected=f"{REQUIREMENTS}, or --requirements FILE")
    if cell is not None:
        print_judged_by(judgement)
        print("\n".join(explain(cell, judgement, frame, beside(found))))
    else:
        print_judgement(judgement)
    raise typer.Exit(judgement.exit_status)


@app.command()
def report(
    campaign: CampaignPath,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="else report.html in the campaign")] = None,
    requirements: Annotated[Path | None, typer.Option(help="instead of the campaign's own")] = None,
    reference: Reference = None,
    picture: Annotated[Path | None, typer.Option(help="also latency and bandwidth of all lanes, as SVG")] = None,
    recompute: Recompute = False,
) -> None:
    """One self-contained HTML file."""
    found = read_campaign(campaign, recompute=recompute)
    if picture is not None:
        save(picture, lane_curves_svg(long_table(found.records)))
    file = output or campaign / "report.html"
    page = report_page(found, campaign, requirements, file.parent, reference, recompute)
    save(file, page, hint="name another file: --output FILE")
    say(str(file))


def _examine_site(system: str, chosen: list[str]) -> None:
    problems, summary = examine_site(system, chosen)
    if summary:
        say(summary)
    if print_problems(problems):
        raise typer.Exit(BAD_INPUT)


def main() -> None:
    """Entry point: every error that a user can mend is one line and exit status 2."""
    try:
        app()
    except BadInput as error:
        print(f"fabricbench: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        if error.errno not in _USER_CAN_MEND:
            raise
        where = f"{error.filename}: " if error.filename else ""
        print(f"fabricbench: {where}cannot be written or read: {error.strerror}", file=sys.stderr)
        sys.exit(BAD_INPUT)
