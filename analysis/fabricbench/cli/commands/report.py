# SPDX-License-Identifier: Apache-2.0
"""``fabricbench report``."""

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import CampaignPath, OtherRequirements, Recompute, Reference
from fabricbench.cli.output import save, say

Page = Annotated[
    Path | None, typer.Option("--output", "-o", help="file of the page, instead of report.html in the campaign")
]
Picture = Annotated[Path | None, typer.Option(help="also write latency and bandwidth of all lanes to this SVG file")]


def report(
    campaign: CampaignPath,
    output: Page = None,
    requirements: OtherRequirements = None,
    reference: Reference = None,
    picture: Picture = None,
    recompute: Recompute = False,
) -> None:
    """Writes the report, one HTML file that needs no other file."""
    from fabricbench.campaign.read import read_campaign
    from fabricbench.cli.campaigns import report_page

    measured = read_campaign(campaign, recompute=recompute)
    if picture is not None:
        from fabricbench.launch.function_only import function_only_text
        from fabricbench.launch.table import table
        from fabricbench.report.lane_curves import lane_curves_svg

        save(picture, lane_curves_svg(table(measured.records), note=function_only_text(measured.records)))
    file = output or campaign / "report.html"
    page = report_page(measured, campaign, requirements, file.parent, reference, recompute)
    save(file, page, hint="name another file: --output FILE")
    say(str(file))
