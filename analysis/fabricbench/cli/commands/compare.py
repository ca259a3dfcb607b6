# SPDX-License-Identifier: Apache-2.0
"""``fabricbench compare``."""

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute
from fabricbench.cli.output import say

LaneArgument = Annotated[str, typer.Argument(help="lane of the numerator, STACK@FABRIC")]
Other = Annotated[str, typer.Argument(help="lane of the denominator, STACK@FABRIC")]
Why = Annotated[
    str | None,
    typer.Option("--why", metavar="APPLICATION", help="print which parts of its run time make the difference"),
]


def compare(
    campaign: CampaignPath,
    lane: LaneArgument,
    other: Other,
    why: Why = None,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Prints the ratio of two lanes, paired by block, for every message size.

    With --why: prints the difference of the run times of one application, and of each of their parts.
    """
    if why is not None:
        _write_why(campaign, lane, other, why, format, output, recompute=recompute)
        return
    from fabricbench.campaign.read import read_campaign
    from fabricbench.cli.tables import write
    from fabricbench.launch.function_only import function_only_reasons
    from fabricbench.launch.table import table
    from fabricbench.verdict.built_for import different_targets
    from fabricbench.verdict.compare import compare as compare_lanes
    from fabricbench.verdict.compare import measured_on_neither

    measured = read_campaign(campaign, recompute=recompute)
    ratios = compare_lanes(table(measured.records), lane, other, unmeasured=measured.unmeasured)
    write(ratios, format, output)
    if format == "text":
        notes = [
            *measured_on_neither(measured.unmeasured, lane, other),
            different_targets(measured.records, lane, other),
        ]
        for line in filter(None, notes):
            say(line)
        compared = [one for one in measured.records if one.launch and one.launch.lane in (lane, other)]
        if reasons := function_only_reasons(compared):
            say(reasons)


def _write_why(
    campaign: Path, lane: str, other: str, application: str, format: str, output: Path | None, *, recompute: bool
) -> None:
    from fabricbench.cli.commands.attribute import attributions_of
    from fabricbench.cli.tables import write_lines
    from fabricbench.verdict.built_for import different_targets
    from fabricbench.verdict.difference import lane_difference, on_both_lanes
    from fabricbench.verdict.sentences import difference_lines

    found = attributions_of(campaign, recompute=recompute)
    differences = [lane_difference(*pair, found.confidence) for pair in on_both_lanes(found, lane, other, application)]
    lines = [line for one in differences for line in difference_lines(one)]
    records = [one.record for launches in found.launches.values() for one in launches]
    note = different_targets(records, lane, other)
    write_lines("--why", [*lines, *([note] if note else [])], format, output)
