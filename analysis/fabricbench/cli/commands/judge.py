# SPDX-License-Identifier: Apache-2.0
"""``fabricbench judge``."""

from typing import Annotated

import typer

from fabricbench.cli.options import CampaignPath, OtherRequirements, Recompute
from fabricbench.cli.output import print_judged_by, print_judgement
from fabricbench.errors import BadInput
from fabricbench.files.layout import REQUIREMENTS

Explain = Annotated[
    str | None,
    typer.Option("--explain", metavar="CELL", help="show how this cell's verdict follows from its launches"),
]
Propose = Annotated[bool, typer.Option("--propose", help="print requirements that this campaign would meet")]


def judge(
    campaign: CampaignPath,
    requirements: OtherRequirements = None,
    cell: Explain = None,
    propose: Propose = False,
    recompute: Recompute = False,
) -> None:
    """Prints the verdict of every cell.

    Exit status: 1 if any cell is FAIL, else 4 if any is INVALID, else 3 if any is INCONCLUSIVE, else 0.
    """
    from fabricbench.campaign.read import read_campaign
    from fabricbench.cli.campaigns import judgement_of
    from fabricbench.launch.table import table

    measured = read_campaign(campaign, recompute=recompute)
    if propose:
        from fabricbench.verdict.propose import propose as propose_requirements

        timed = [one for one in measured.records if one.launch is None or not one.launch.function_only]
        print(propose_requirements(table(timed)), end="")
        return
    frame = table(measured.records)
    judgement = judgement_of(measured, campaign, requirements, frame)
    if judgement is None:
        raise BadInput("no requirements", where=str(campaign), expected=f"{REQUIREMENTS}, or --requirements FILE")
    if cell is not None:
        from fabricbench.verdict.explain import explain
        from fabricbench.verdict.result import campaign_context

        print_judged_by(judgement)
        print("\n".join(explain(cell, judgement, frame, campaign_context(measured))))
    else:
        print_judgement(judgement)
    raise typer.Exit(judgement.exit_status)
