# SPDX-License-Identifier: Apache-2.0
"""``fabricbench table``."""

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute


def table(campaign: CampaignPath, format: Format = "text", output: Output = None, recompute: Recompute = False) -> None:
    """Prints the long table: one row per value."""
    from fabricbench.campaign.read import read_campaign
    from fabricbench.cli.tables import write
    from fabricbench.launch.table import table as long_table

    write(long_table(read_campaign(campaign, recompute=recompute).records), format, output)
