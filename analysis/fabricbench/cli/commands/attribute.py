# SPDX-License-Identifier: Apache-2.0
"""``fabricbench attribute``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute
from fabricbench.errors import BadInput

if TYPE_CHECKING:
    from fabricbench.verdict.attribution import Attributions

Calls = Annotated[bool, typer.Option("--calls", help="print a row for each MPI function of each application")]
Ranks = Annotated[bool, typer.Option("--ranks", help="print a row for each rank of each application")]


def attribute(
    campaign: CampaignPath,
    calls: Calls = False,
    ranks: Ranks = False,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Prints where the time of each profiled application went: computation, latency, bandwidth, waiting, rest."""
    from fabricbench.cli.tables import write
    from fabricbench.verdict.attribution_tables import attribution_table, parts_by_call, parts_by_rank

    found = attributions_of(campaign, recompute=recompute)
    if calls or ranks:
        write(parts_by_call(found.items) if calls else parts_by_rank(found.items), format, output)
    else:
        write(attribution_table(found), format, output)


def attributions_of(campaign: Path, *, recompute: bool = False) -> "Attributions":
    """Returns the attributions of the campaign; raises BadInput if no launch of it was profiled."""
    from fabricbench.campaign.operations import read_operations
    from fabricbench.campaign.read import read_campaign
    from fabricbench.launch.table import table
    from fabricbench.verdict.attribution import attributions

    measured = read_campaign(campaign, recompute=recompute)
    found = attributions(
        table(measured.records),
        measured.records,
        lambda record: read_operations(campaign, record),
        measured.facts.alpha,
    )
    if not found.items and not found.refused:
        raise BadInput(
            "no launch was profiled",
            where=str(campaign),
            expected="launches of mode profiled",
            hint="fabricbench run --check NasProfile --check NPB",
        )
    return found
