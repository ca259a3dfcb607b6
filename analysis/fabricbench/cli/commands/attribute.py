# SPDX-License-Identifier: Apache-2.0
"""``fabricbench attribute``."""

from typing import Annotated

import typer

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute
from fabricbench.errors import BadInput

Sensitivity = Annotated[
    bool, typer.Option("--sensitivity", help="print how the run time depends on injected delays (run --inject)")
]


def attribute(
    campaign: CampaignPath,
    sensitivity: Sensitivity = False,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Prints how the run time of each application depends on delays of its messages."""
    from fabricbench.cli.sensitivity import print_sensitivity

    if not sensitivity:
        raise BadInput("no table is chosen", expected="--sensitivity")
    print_sensitivity(campaign, format=format, output=output, recompute=recompute)
