# SPDX-License-Identifier: Apache-2.0
"""``fabricbench compare``."""

from typing import Annotated

import typer

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute
from fabricbench.cli.output import say

LaneArgument = Annotated[str, typer.Argument(help="lane of the numerator, STACK@FABRIC")]
Other = Annotated[str, typer.Argument(help="lane of the denominator, STACK@FABRIC")]


def compare(
    campaign: CampaignPath,
    lane: LaneArgument,
    other: Other,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Prints the ratio of two lanes, paired by block, for every message size."""
    from fabricbench.campaign.read import read_campaign
    from fabricbench.cli.tables import write
    from fabricbench.launch.table import table
    from fabricbench.verdict.compare import compare as compare_lanes
    from fabricbench.verdict.compare import measured_on_neither

    measured = read_campaign(campaign, recompute=recompute)
    ratios = compare_lanes(table(measured.records), lane, other, unmeasured=measured.unmeasured)
    write(ratios, format, output)
    if format == "text":
        for line in measured_on_neither(measured.unmeasured, lane, other):
            say(line)
