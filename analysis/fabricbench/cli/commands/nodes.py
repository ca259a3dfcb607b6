# SPDX-License-Identifier: Apache-2.0
"""``fabricbench nodes``."""

import typer

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute
from fabricbench.cli.output import say
from fabricbench.errors import BadInput

SOME_ARE_SLOW = 1
"""Exit status when a node or a node pair is named."""


def nodes(campaign: CampaignPath, format: Format = "text", output: Output = None, recompute: Recompute = False) -> None:
    """Lists the nodes and node pairs that are slower than the others, and those that no launch covered.

    Exit status: 1 if any is listed, else 0.
    """
    from fabricbench.campaign.read import read_campaign
    from fabricbench.cli.tables import write
    from fabricbench.launch.table import table
    from fabricbench.verdict.coverage import coverage
    from fabricbench.verdict.nodes import BENCHMARKS
    from fabricbench.verdict.survey import as_frame, survey

    measured = read_campaign(campaign, recompute=recompute)
    result = survey(table(measured.records))
    covered = [line for one in coverage(measured.records, measured.removed) for line in one.lines]
    covered += [node.note for node in measured.removed]
    if not result.matrices and not covered:
        checks = " ".join(f"--check {name.title().replace('_', '')}" for name in BENCHMARKS)
        raise BadInput(
            "no node pairs were measured",
            where=str(campaign),
            expected=f"attested launches of {' or '.join(BENCHMARKS)}",
            hint=f"fabricbench run {checks}, on a fabric of several nodes",
        )
    frame = as_frame(result)
    if format != "text" or output is not None or not frame.is_empty():
        write(frame, format, output)
    if format == "text":
        nothing = ["no slow node or node pair was detected"] if frame.is_empty() and result.decidable else []
        nothing += [] if result.matrices else ["no node pairs were measured"]
        for line in (*nothing, *result.notes, *covered):
            say(line)
    raise typer.Exit(SOME_ARE_SLOW if len(frame) else 0)
