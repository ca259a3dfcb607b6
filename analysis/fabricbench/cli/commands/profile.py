# SPDX-License-Identifier: Apache-2.0
"""``fabricbench profile``."""

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute
from fabricbench.cli.output import say
from fabricbench.errors import BadInput, nearest

Launch = Annotated[
    str | None, typer.Argument(help="directory of a profiled launch below launches/, as in the long table")
]
Directory = Annotated[Path | None, typer.Argument(help="new or empty directory for the launch's profile")]
Calls = Annotated[bool, typer.Option("--calls", help="print a row for each MPI function of each profile")]


def profile(
    campaign: CampaignPath,
    launch: Launch = None,
    directory: Directory = None,
    calls: Calls = False,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Prints the time in MPI of each profiled benchmark and whether its profile may be used.

    With LAUNCH and DIRECTORY: writes the profile of one launch as files that TAU's pprof and ParaProf read.
    """
    if launch is None:
        _print(campaign, calls=calls, format=format, output=output, recompute=recompute)
    elif directory is None:
        raise BadInput("no directory for the profile", expected="profile CAMPAIGN LAUNCH DIRECTORY")
    else:
        _export(campaign, launch, directory)


def _print(campaign: Path, *, calls: bool, format: str, output: Path | None, recompute: bool) -> None:
    from fabricbench.campaign.read import read_campaign
    from fabricbench.cli.tables import write
    from fabricbench.launch.table import table
    from fabricbench.verdict.profile_tables import call_table, summary_table
    from fabricbench.verdict.profiles import profiles

    measured = read_campaign(campaign, recompute=recompute)
    summaries = profiles(table(measured.records), measured.records, measured.facts.alpha)
    if not summaries:
        raise BadInput(
            "no launch was profiled",
            where=str(campaign),
            expected="launches of mode profiled",
            hint="fabricbench run --check NasProfile --check NPB",
        )
    write(call_table(summaries) if calls else summary_table(summaries), format, output)


def _export(campaign: Path, launch: str, directory: Path) -> None:
    from fabricbench.campaign.read import launch_directories, read_facts
    from fabricbench.files.layout import LAUNCHES
    from fabricbench.launch.facts import Launch as Facts
    from fabricbench.parsers.output import Unreadable, read_model
    from fabricbench.parsers.tau.export import export

    read_facts(campaign)
    root = campaign / LAUNCHES
    folders = {str(folder.relative_to(root)): folder for folder in launch_directories(campaign)}
    if launch not in folders:
        raise BadInput(f"no launch '{launch}'", where=str(campaign), expected=nearest(launch, folders))
    try:
        facts = read_model(folders[launch] / "launch.json", Facts)
    except Unreadable as error:
        raise BadInput(str(error), where=str(folders[launch])) from None
    if facts.mode != "profiled":
        raise BadInput(f"a launch of mode {facts.mode}", where=launch, expected="a launch of mode profiled")
    count = export(folders[launch], facts.ranks, directory)
    say(f"{count} profiles written to {directory}; read them with: cd {directory} && pprof")
