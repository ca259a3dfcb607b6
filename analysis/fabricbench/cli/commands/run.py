# SPDX-License-Identifier: Apache-2.0
"""``fabricbench run``."""

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import LaneOption, SystemOption

CampaignArgument = Annotated[
    Path | None,
    typer.Argument(help="directory of the campaign; default: the interrupted one with these options, or a new one"),
]
Tier = Annotated[str | None, typer.Option(help="quick (the default): 6 blocks; standard, acceptance: up to 30 blocks")]
Checks = Annotated[list[str] | None, typer.Option(help="use only this check, by its class name; repeatable")]
Variables = Annotated[
    list[str] | None,
    typer.Option("--set", help="[CHECK.]VARIABLE=VALUE, for example MicroPingpong.port=eth1; repeatable"),
]
Inject = Annotated[
    list[str] | None,
    typer.Option(
        help="also run the chosen NPB kernels and GROMACS with delayed messages, at each of these levels: "
        "latency=5us,10us, per_byte=0.1ns or overhead=2us; repeatable",
    ),
]
ScaleOption = Annotated[
    list[str] | None,
    typer.Option("--scale", help="nodes and ranks on each, 4x8,16x1, in place of the tier's scales; repeatable"),
]
Without = Annotated[
    list[str] | None, typer.Option("--without", help="take this node out of the campaign; repeatable; needs --because")
]
Because = Annotated[str, typer.Option("--because", help="why the nodes are taken out; shown beside every verdict")]
Seed = Annotated[int | None, typer.Option(min=0, help="random seed of the order of launches within a block")]
Budget = Annotated[float | None, typer.Option(min=0, help="longest time to measure, in minutes")]
Report = Annotated[bool, typer.Option("--report", help="write the report at the end")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="list launches, skips, wall time and node-hours, and start nothing")
]
TimesReference = Annotated[
    Path | None,
    typer.Option(help="with --dry-run: an earlier campaign, whose times are used as estimates", show_default=False),
]
ForecastFormat = Annotated[str, typer.Option("--format", "-f", help="with --dry-run: output format: text, csv or json")]


def run(
    campaign: CampaignArgument = None,
    system: SystemOption = "local",
    tier: Tier = None,
    lane: LaneOption = None,
    check: Checks = None,
    variable: Variables = None,
    inject: Inject = None,
    scale: ScaleOption = None,
    without: Without = None,
    because: Because = "",
    seed: Seed = None,
    budget: Budget = None,
    report: Report = False,
    dry_run: DryRun = False,
    reference: TimesReference = None,
    format: ForecastFormat = "text",
) -> None:
    """Measures a campaign until every requirement is decided or the budget is spent.

    Continues a campaign that was interrupted.
    """
    from fabricbench.cli.campaign_run import Options, measure, print_plan
    from fabricbench.launch.injection import levels_of
    from fabricbench.site.scale import scales_of

    chosen = tuple(lane or ()), tuple(check or ()), tuple(variable or ())
    options = Options(
        campaign,
        system,
        tier,
        *chosen,
        seed,
        budget,
        injected=levels_of(inject or ()),
        scales=tuple(map(str, scales_of(scale or ()))),
        without=tuple(dict.fromkeys(without or ())),
        because=because,
    )
    options.demand_valid(dry_run, reference, format)
    if dry_run:
        print_plan(options, reference, format)
    else:
        measure(options, report)
