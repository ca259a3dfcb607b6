# SPDX-License-Identifier: Apache-2.0
"""``fabricbench provenance``."""

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute, Reference
from fabricbench.cli.output import say


def provenance(
    campaign: CampaignPath,
    reference: Reference = None,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Prints the facts of the nodes, or with --reference the differences from that campaign.

    The differences that are most likely to matter come first.
    """
    from fabricbench.campaign.provenance import read_provenance
    from fabricbench.cli.tables import write
    from fabricbench.report.differences import as_frame, differences, facts_of_nodes, not_compared

    here = read_provenance(campaign, recompute=recompute)
    if reference is None:
        write(facts_of_nodes(here.nodes), format, output)
        return
    there = read_provenance(reference, recompute=recompute)
    frame = as_frame(differences(here, there))
    if format != "text" or output is not None or not frame.is_empty():
        write(frame, format, output)
    elif format == "text":
        say("no difference is known")
    if format == "text" and (omissions := not_compared(here, there)):
        say(f"not compared, because only one campaign reports it: {', '.join(omissions)}")
