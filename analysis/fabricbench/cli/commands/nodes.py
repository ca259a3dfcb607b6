# SPDX-License-Identifier: Apache-2.0
"""``fabricbench nodes``."""

import typer

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute
from fabricbench.cli.output import say
from fabricbench.errors import BadInput

CONFIDENCE = 0.95
"""Of the intervals of ratios between switches."""

SOME_ARE_SLOW = 1
"""Exit status when a node or a node pair is named."""


def nodes(campaign: CampaignPath, format: Format = "text", output: Output = None, recompute: Recompute = False) -> None:
    """Lists the nodes and node pairs that are slower than the others, and those that no launch covered.

    Exit status: 1 if any is listed, else 0.
    """
    from fabricbench.campaign.provenance import read_provenance
    from fabricbench.campaign.read import read_campaign
    from fabricbench.cli.tables import write
    from fabricbench.launch.table import table
    from fabricbench.verdict.coverage import coverage
    from fabricbench.verdict.nodes import BENCHMARKS
    from fabricbench.verdict.survey import as_frame, survey
    from fabricbench.verdict.switches import switch_ratios

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
        of_pairs = [record for record in measured.records if record.launch and record.launch.benchmark in BENCHMARKS]
        hosts = read_provenance(campaign, measured.model_copy(update={"records": tuple(of_pairs)})).hosts
        addresses = {name: history[-1].topology_address for name, history in hosts.items()}
        switches = [one.line for one in switch_ratios(result.matrices, addresses, CONFIDENCE)]
        for line in (*nothing, *result.notes, *switches, *covered):
            say(line)
    raise typer.Exit(SOME_ARE_SLOW if len(frame) else 0)
