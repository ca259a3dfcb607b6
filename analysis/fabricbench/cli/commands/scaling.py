# SPDX-License-Identifier: Apache-2.0
"""``fabricbench scaling``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute
from fabricbench.cli.output import say
from fabricbench.errors import BadInput

if TYPE_CHECKING:
    from fabricbench.verdict.series import CellKey, Series

_MEASURE = "fabricbench run --tier standard --check MicroCollective --check MicroBarrier --check MicroPlogp"

Below = Annotated[
    float | None,
    typer.Option(help="also name the scales between which the efficiency falls below this share, 0 to 1"),
]
Collectives = Annotated[bool, typer.Option("--collectives", help="times of collectives, beside those of a model")]


def scaling(
    campaign: CampaignPath,
    collectives: Collectives = False,
    below: Below = None,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Prints speed-up and efficiency of applications over nodes and ranks."""
    from fabricbench.cli.tables import write
    from fabricbench.verdict import scaling as of_scales
    from fabricbench.verdict.frames import frame_of

    if below is not None and not 0 < below <= 1:
        raise BadInput(f"--below {below:g}", expected="a share above 0 and at most 1")
    if below is not None and (collectives or format != "text"):
        raise BadInput("--below has text only, and no collectives", hint="omit --collectives and --format")
    cells, function_only = measurements_of(campaign, recompute)
    if collectives:
        times = of_scales.collective_times(cells, 0.95)
        if not times:
            raise BadInput("no collective was measured", where=str(campaign), hint=_MEASURE)
        write(frame_of(of_scales.CollectiveTime, times), format, output)
        _say_function_only(function_only, format)
        return
    rows = of_scales.strong_scaling(cells, 0.95)
    if not rows:
        raise BadInput(
            "no application was measured on two scales",
            where=str(campaign),
            expected="attested launches of NPB or GROMACS on several numbers of ranks",
            hint="fabricbench run --tier standard --check NPB",
        )
    write(frame_of(of_scales.Scaling, rows), format, output)
    if below is not None:
        for name, of_one in of_scales.by_application(rows):
            say(f"{name}: {of_scales.below(of_one, below).sentence(below)}")
    _say_function_only(function_only, format)


def _say_function_only(reasons: str, format: str) -> None:
    if format == "text" and reasons:
        say(reasons)


def measurements_of(campaign: Path, recompute: bool) -> "tuple[dict[CellKey, Series], str]":
    """Returns the cells of a campaign's timed launches, and why times of some lanes are no measurements."""
    from fabricbench.campaign.read import read_campaign
    from fabricbench.launch.function_only import function_only_reasons
    from fabricbench.launch.table import table
    from fabricbench.verdict.series import all_series

    records = read_campaign(campaign, recompute=recompute).records
    return all_series(table(records)), function_only_reasons(records)
