# SPDX-License-Identifier: Apache-2.0
"""The command line. Exit status 2 is wrong use or bad input, everywhere."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from fabricbench.core.campaign import LOOKS, REQUIREMENTS
from fabricbench.core.errors import BadInput, nearest
from fabricbench.core.record import Campaign, Record
from fabricbench.core.requirements import Requirements, load
from fabricbench.core.site import REPOSITORY, build_root
from fabricbench.core.stacks import site_stacks
from fabricbench.core.table import table as long_table
from fabricbench.drive.doctor import examine, examine_site
from fabricbench.drive.forecast import Forecast, forecast
from fabricbench.drive.inputs import build as build_inputs
from fabricbench.drive.plan import Plan
from fabricbench.drive.run import is_complete
from fabricbench.drive.run import run as run_campaign
from fabricbench.drive.setup import set_up, set_up_input
from fabricbench.drive.spack import examine_spack, set_up_views, views_in
from fabricbench.drive.system import choose, lanes, settings_file, site_root
from fabricbench.inputs.cache import cache_root
from fabricbench.inputs.recipes import SYSTEMS, checked_copies
from fabricbench.inputs.recipes import system as gromacs_system
from fabricbench.parsers.campaign import known_names, read_campaign, read_facts
from fabricbench.parsers.provenance import read_provenance
from fabricbench.report import differences as unlike
from fabricbench.report import lane_curves_svg
from fabricbench.report import report as page
from fabricbench.verdict.compare import compare as compare_lanes
from fabricbench.verdict.explain import explain
from fabricbench.verdict.judge import judge as judge_table
from fabricbench.verdict.nodes import as_frame, matrices, notes
from fabricbench.verdict.propose import propose as propose_requirements
from fabricbench.verdict.result import EXIT_STATUS, Judgement

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
System = Annotated[str, typer.Option(help="a folder under site/")]
NamedLanes = Annotated[list[str] | None, typer.Option("--lane", help="only this lane, stack@fabric; repeatable")]

FORMATS = ("text", "csv", "json", "parquet")


def _known_format(format: str) -> str:
    if format not in FORMATS:
        raise BadInput(f"unknown format '{format}'", expected=nearest(format, FORMATS))
    return format


Format = Annotated[str, typer.Option("--format", "-f", help="text, csv, json or parquet", callback=_known_format)]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="a file instead of the output")]

DEFAULT_TIER = "quick"
FORECAST_FORMATS = ("text", "csv", "json")
NOT_ALL_ATTESTED = 1
TO_LOOK_AT = 1
BAD_INPUT = 2
INTERRUPTED = 130


def _say(text: str) -> None:
    print(text, flush=True)


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
    known = site_stacks(site_root())
    chosen = stack or (views_in(spack) if spack else [name for name in known if not known[name].only_spack])
    for name in chosen:
        if name not in known:
            raise BadInput(f"unknown stack '{name}'", expected=nearest(name, known))
    stacks = [known[name] for name in chosen]
    if spack is not None:
        problems = set_up_views(stacks, spack.absolute(), _say)
    else:
        problems = set_up(stacks, _say, again=again, for_tests=for_tests)
    for problem in problems:
        print(f"fabricbench: not set up: {problem}", file=sys.stderr)
    if len(problems) == len(chosen):
        raise BadInput("no stack could be set up")
    if not (stack or spack or for_tests) and (problem := set_up_input(_say)):
        print(f"fabricbench: not set up: {problem}", file=sys.stderr)
    _say(f"set up; for reframe and fabricbench as typed: source {build_root()}/env.sh")


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
        build_inputs(wanted, checked_copies(copies), root, _say)
    except KeyboardInterrupt:
        print("fabricbench: interrupted; the same command goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


@app.command()
def doctor(
    system: System = "local",
    site: Annotated[bool, typer.Option("--site", help="check the site's files instead of the lanes")] = False,
    spack: Annotated[bool, typer.Option("--spack", help="look at what the site takes from Spack instead")] = False,
    lane: NamedLanes = None,
) -> None:
    """Which lanes can run here, and for each that cannot, why and the cure."""
    if spack:
        found = list(examine_spack(system))
        for stack in found:
            _say(f"{stack.name:16}{'ready' if stack.ready else 'NOT READY':11}{stack.detail}")
        raise typer.Exit(not any(stack.ready for stack in found))
    if site:
        _examine_site(system)
        return
    ready = 0
    for finding in examine(choose(lanes(system), lane or ())):
        ready += finding.ready
        state = "ready" if finding.ready else "NOT READY"
        _say(f"{finding.lane:16}{state:11}{finding.detail}" + (f"; cure: {finding.cure}" if finding.cure else ""))
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
    seed: Annotated[int | None, typer.Option(min=0, help="of the order within blocks")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="minutes that this command may measure")] = None,
    report: Annotated[bool, typer.Option("--report", help="write the report when done")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="start nothing: list launches, gaps, wall time, node-hours")
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
    wanted = tier or DEFAULT_TIER
    found = None if campaign else _unfinished(system, wanted, chosen, tuple(check or ()))
    if found and format == "text":
        _say(f"going on with {found}")
    path = campaign or found or _new_campaign(wanted)
    made = read_facts(path) if (path / "campaign.json").exists() else None
    if made is not None and seed not in (None, made.seed):
        raise BadInput(f"this campaign's seed is {made.seed}", where=str(path), cure="leave --seed out")
    plan = Plan(
        path=path,
        system=system,
        tier=tier or (made.tier if made else wanted),
        seed=seed if seed is not None else time.time_ns() % 2**31,
        lanes=made.lanes if made and not lane else chosen,
        checks=made.checks if made and not check else tuple(check or ()),
        budget_seconds=None if budget is None else budget * 60,
        decided=_decided,
    )
    if dry_run:
        _print_forecast(forecast(plan, reference), format)
        return
    try:
        run_campaign(plan)
    except KeyboardInterrupt:
        print(f"fabricbench: interrupted; the same command goes on from here: {path}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    ended = read_campaign(path)
    _print_judgement(_judgement(ended, path, None))
    if report:
        _save(path / "report.html", _page(ended, path))
        _say(f"report: {path / 'report.html'}")
    _finish(ended)


@app.command()
def table(
    campaign: CampaignPath,
    format: Format = "text",
    output: Output = None,
) -> None:
    """The long table, one row per value."""
    _write(long_table(read_campaign(campaign).records), format, output)


@app.command()
def compare(
    campaign: CampaignPath,
    lane: Annotated[str, typer.Argument(help="stack@fabric")],
    other: Annotated[str, typer.Argument(help="the lane that it is divided by")],
    format: Format = "text",
    output: Output = None,
) -> None:
    """One lane against another, paired by block, over the whole curve."""
    _write(compare_lanes(long_table(read_campaign(campaign).records), lane, other), format, output)


@app.command()
def nodes(
    campaign: CampaignPath,
    format: Format = "text",
    output: Output = None,
) -> None:
    """Nodes, and pairs of nodes, that are slower than the others. Exit 0 none is, 1 there is one to look at."""
    found = matrices(long_table(read_campaign(campaign).records))
    if not found:
        raise BadInput(
            "no pairs of nodes were measured",
            where=str(campaign),
            expected="attested launches of pair_latency or pair_bandwidth",
            cure="fabricbench run --check PairLatency --check PairBandwidth, on a fabric of several nodes",
        )
    frame = as_frame(found)
    if format != "text" or output is not None or not frame.is_empty():
        _write(frame, format, output)
    if format == "text":
        nothing = ["no node and no pair is named"] if frame.is_empty() else []
        for line in (*nothing, *notes(found)):
            _say(line)
    raise typer.Exit(TO_LOOK_AT if len(frame) else 0)


@app.command()
def provenance(
    campaign: CampaignPath,
    reference: Reference = None,
    format: Format = "text",
    output: Output = None,
) -> None:
    """What the nodes are; with --reference what differs between two campaigns, likeliest to matter first."""
    seen = read_provenance(campaign)
    if reference is None:
        _write(unlike.told(seen.nodes), format, output)
        return
    other = read_provenance(reference)
    frame = unlike.as_frame(unlike.differences(seen, other))
    if format != "text" or output is not None or not frame.is_empty():
        _write(frame, format, output)
    elif format == "text":
        _say("no difference is known")
    if format == "text" and (missing := unlike.not_compared(seen, other)):
        _say(f"told by the nodes of one campaign only, so not compared: {', '.join(missing)}")


@app.command()
def judge(
    campaign: CampaignPath,
    requirements: Annotated[Path | None, typer.Option(help="instead of the campaign's own")] = None,
    cell: Annotated[str | None, typer.Option("--explain", help="the way from the launches to one cell")] = None,
    propose: Annotated[bool, typer.Option("--propose", help="requirements that this campaign would meet")] = False,
) -> None:
    """Verdicts. Exit 0 all PASS, 1 a FAIL, 3 INCONCLUSIVE, 4 INVALID (1 before 4 before 3)."""
    found = read_campaign(campaign)
    frame = long_table(found.records)
    if propose:
        print(propose_requirements(frame), end="")
        return
    judgement = _judgement(found, campaign, requirements)
    if judgement is None:
        raise BadInput("no requirements", where=str(campaign), expected=f"{REQUIREMENTS}, or --requirements FILE")
    if cell is not None:
        print("\n".join(explain(cell, judgement, frame)))
    else:
        _print_judgement(judgement)
    raise typer.Exit(judgement.exit_status)


@app.command()
def report(
    campaign: CampaignPath,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="else report.html in the campaign")] = None,
    requirements: Annotated[Path | None, typer.Option(help="instead of the campaign's own")] = None,
    reference: Reference = None,
    picture: Annotated[Path | None, typer.Option(help="also latency and bandwidth of all lanes, as SVG")] = None,
) -> None:
    """One self-contained HTML file."""
    found = read_campaign(campaign)
    if picture is not None:
        _save(picture, lane_curves_svg(long_table(found.records)))
    file = output or campaign / "report.html"
    _save(file, _page(found, campaign, requirements, file.parent, reference))
    _say(str(file))


def _examine_site(system: str) -> None:
    problems, summary = examine_site(system)
    if summary:
        _say(summary)
    for problem in problems:
        if problem.state != "broken":
            _say(f"{problem.state}: {problem.text}")
    broken = [problem.text for problem in problems if problem.state == "broken"]
    for text in broken:
        print(f"fabricbench: {text}", file=sys.stderr)
    if broken:
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


def _save(file: Path, text: str) -> None:
    """All of it or nothing: what was there stays until the new file is whole."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise BadInput(f"cannot be written: {error.strerror or error}", where=str(file)) from None


def _requirements(found: Campaign, path: Path, given: Path | None) -> Requirements | None:
    """The campaign's own, or those given, whose names must be names that the campaign or its own requirements use."""
    own = load(path / REQUIREMENTS) if (path / REQUIREMENTS).exists() else None
    return own if given is None else load(given, known_names(found, own))


def _judgement(found: Campaign, path: Path, given: Path | None) -> Judgement | None:
    requirements = _requirements(found, path, given)
    return None if requirements is None else judge_table(long_table(found.records), requirements, found.facts)


def _page(
    found: Campaign,
    path: Path,
    given: Path | None = None,
    place: Path | None = None,
    reference: Path | None = None,
) -> str:
    other = None if reference is None else read_provenance(reference)
    judgement = _judgement(found, path, given)
    base = "" if place is None or place.resolve() == path.resolve() else os.path.relpath(path, place)
    seen = read_provenance(path, found)
    return page(found, long_table(found.records), judgement, seen=seen, reference=other, base=base)


def _decided(path: Path) -> bool:
    judgement = _judgement(read_campaign(path), path, None)
    return judgement is not None and all(cell.verdict != "INCONCLUSIVE" for cell in judgement.cells)


def _print_judgement(judgement: Judgement | None) -> None:
    if judgement is None:
        _say("no requirements, nothing is judged")
        return
    rows: list[tuple[str, ...]] = [("verdict", "cell", "bound", "estimate", "interval", "n")]
    for cell in judgement.cells:
        estimate = "-" if cell.estimate is None else f"{cell.estimate:.4g} {cell.unit}".rstrip()
        interval = "-" if cell.low is None or cell.high is None else f"{cell.low:.4g} to {cell.high:.4g}"
        rows.append((cell.verdict, cell.name, cell.bound, estimate, interval, str(cell.n)))
    for line in _columns(rows):
        _say(line)
    counts = {verdict: sum(cell.verdict == verdict for cell in judgement.cells) for verdict in EXIT_STATUS}
    _say(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f"; {judgement.blocks} blocks")


def _print_forecast(found: Forecast, format: str) -> None:
    """As text all of it, as JSON too; as CSV the launches."""
    tables = {
        "launches": found.launches(),
        "totals": found.totals(),
        "allocations": found.allocations(),
        "gaps": found.left_out(),
    }
    if format == "json":
        print(json.dumps({name: frame.to_dicts() for name, frame in tables.items()}, indent=1))
        return
    if format == "csv":
        print(_text(tables["launches"], format), end="")
        return
    for name, frame in tables.items():
        if not frame.is_empty():
            _say(f"{name}:\n{_text(frame, format)}")
    if found.reference and found.unknown:
        _say(f"{found.unknown} launches are unknown to the reference: they count with their limit")


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows padded into columns, whatever the width of the terminal: the same text everywhere."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _write(frame: pl.DataFrame, format: str, output: Path | None) -> None:
    if format == "parquet" and output is None:
        raise BadInput("parquet is not for a terminal", expected="--output FILE")
    try:
        if format == "parquet" and output is not None:
            frame.write_parquet(output)
            return
        text = _text(frame, format)
        if output is None:
            print(text, end="")
        else:
            _save(output, text)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror or error}", where=str(output)) from None


def _text(frame: pl.DataFrame, format: str) -> str:
    if format == "csv":
        return frame.write_csv()
    if format == "json":
        return frame.write_json() + "\n"
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=1000,
        fmt_str_lengths=200,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_formatting="NOTHING",
    ):
        return f"{frame}\n"


def _unfinished(system: str, tier: str, chosen: tuple[str, ...], checks: tuple[str, ...]) -> Path | None:
    """The newest campaign that was asked for in the same words and interrupted."""
    for path in sorted((REPOSITORY / "campaigns").glob(f"{tier}-*"), reverse=True):
        if (path / "campaign.json").exists() and not is_complete(path):
            try:
                facts = read_facts(path)
            except BadInput as error:
                print(f"fabricbench: left alone: {error}", file=sys.stderr)
                continue
            if (facts.system, facts.tier, facts.lanes, facts.checks) == (system, tier, chosen, checks):
                return path
    return None


def _new_campaign(tier: str) -> Path:
    return REPOSITORY / "campaigns" / f"{tier}-{time.strftime('%Y%m%dT%H%M%S')}"


def _finish(found: Campaign) -> None:
    """Exit 0 when every launch came back and was attested, whatever the verdicts."""
    last: dict[str, Record] = {r.launch.id if r.launch else r.directory: r for r in found.records}
    if all(r.launch is not None and r.launch.mode == "wireup" for r in last.values()):
        reasons = "; ".join(sorted({f"{gap.lane} {gap.tool}: {gap.reason}" for gap in found.gaps}))
        raise BadInput(f"nothing was measured, there are only gaps: {reasons}")
    wrong = [record for record in last.values() if record.state != "ok"]
    lanes_seen = sorted({r.launch.lane for r in last.values() if r.launch and r.state == "ok"})
    refused = sum(record.state == "ok" and record.attestation is None for record in last.values())
    gaps = f"; {refused} more are gaps, refused by their tool" if refused else ""
    came = len(last) - len(wrong) - refused
    _say(f"{came} of {len(last)} launches came back and were attested, on {' '.join(lanes_seen)}{gaps}")
    for record in wrong[:20]:
        _say(f"{record.state}: {record.directory}: {record.reason}")
    if wrong:
        raise typer.Exit(NOT_ALL_ATTESTED)


if __name__ == "__main__":
    main()
