# SPDX-License-Identifier: Apache-2.0
"""``fabricbench record``."""

from typing import Annotated

import typer

from fabricbench.cli.options import CampaignPath, Recompute
from fabricbench.errors import BadInput, nearest

LaunchArgument = Annotated[str, typer.Argument(help="directory of the launch below launches/, as in the long table")]


def record(campaign: CampaignPath, launch: LaunchArgument, recompute: Recompute = False) -> None:
    """Prints the record of one launch as JSON: its state, the evidence of its attestation, its values."""
    from fabricbench.campaign.read import read_campaign

    records = {each.directory: each for each in read_campaign(campaign, recompute=recompute).records}
    if launch not in records:
        raise BadInput(f"no launch '{launch}'", where=str(campaign), expected=nearest(launch, records))
    print(records[launch].model_dump_json(indent=1))
