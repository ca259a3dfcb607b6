# SPDX-License-Identifier: Apache-2.0
"""``fabricbench profile``."""

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import CampaignPath
from fabricbench.cli.output import say
from fabricbench.errors import BadInput, nearest

Launch = Annotated[str, typer.Argument(help="directory of the profiled launch below launches/, as in the long table")]
Directory = Annotated[Path, typer.Argument(help="new or empty directory to write to", show_default=False)]


def profile(campaign: CampaignPath, launch: Launch, directory: Directory) -> None:
    """Writes the profile of one launch as files that TAU's pprof and ParaProf read."""
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
