# SPDX-License-Identifier: Apache-2.0
"""``fabricbench scaling``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench.cli.options import CampaignPath, Format, Output, Recompute
from fabricbench.cli.output import say
from fabricbench.errors import BadInput

if TYPE_CHECKING:
    import polars as pl

    from fabricbench.verdict.scaling import Cells
    from fabricbench.verdict.series import CellKey, Series

CONFIDENCE = 0.95
"""Of the intervals."""

_MEASURE = "fabricbench run --tier standard --check MicroCollective --check MicroBarrier --check MicroPlogp"

Below = Annotated[
    float | None,
    typer.Option(help="also name the scales between which the efficiency falls below this share, 0 to 1"),
]
Collectives = Annotated[bool, typer.Option("--collectives", help="times of collectives, beside those of a model")]
Weak = Annotated[bool, typer.Option("--weak", help="efficiency of NAS kernels with equally many elements on each rank")]


def scaling(
    campaign: CampaignPath,
    collectives: Collectives = False,
    weak: Weak = False,
    below: Below = None,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Prints speed-up and efficiency of applications over nodes and ranks."""
    from fabricbench.cli.tables import write
    from fabricbench.verdict.frames import frame_of
    from fabricbench.verdict.scaling import Scaling, by_application, strong_scaling
    from fabricbench.verdict.scaling import below as limit

    if below is not None and not 0 < below <= 1:
        raise BadInput(f"--below {below:g}", expected="a share above 0 and at most 1")
    if collectives and weak:
        raise BadInput("--collectives and --weak are two tables", hint="omit one of them")
    if below is not None and (collectives or weak or format != "text"):
        hint = "omit --collectives, --weak and --format"
        raise BadInput("--below has text only, and no collectives and no weak scaling", hint=hint)
    cells, function_only = measurements_of(campaign, recompute)
    if collectives or weak:
        write(_collectives(cells, campaign) if collectives else _weak(cells, campaign), format, output)
    else:
        rows = strong_scaling(cells, CONFIDENCE)
        if not rows:
            raise BadInput(
                "no application was measured on two scales",
                where=str(campaign),
                expected="attested launches of NPB or GROMACS on several numbers of ranks",
                hint="fabricbench run --tier standard --check NPB",
            )
        write(frame_of(Scaling, rows), format, output)
        if below is not None:
            for name, of_one in by_application(rows):
                say(f"{name}: {limit(of_one, below).sentence(below)}")
    if format == "text" and function_only:
        say(function_only)


def _collectives(cells: "Cells", campaign: Path) -> "pl.DataFrame":
    from fabricbench.verdict.frames import frame_of
    from fabricbench.verdict.scaling import CollectiveTime, collective_times

    times = collective_times(cells, CONFIDENCE)
    if not times:
        raise BadInput("no collective was measured", where=str(campaign), hint=_MEASURE)
    return frame_of(CollectiveTime, times)


def _weak(cells: "Cells", campaign: Path) -> "pl.DataFrame":
    from fabricbench.verdict.frames import frame_of
    from fabricbench.verdict.weak_scaling import WeakScaling, weak_scaling

    kernels = weak_scaling(cells, CONFIDENCE)
    if not kernels:
        raise BadInput(
            "no kernel ran with equally many elements on each of several numbers of ranks",
            where=str(campaign),
            expected="IS or FT of two classes, the larger one on proportionally more ranks",
            hint="fabricbench run --tier standard --check NasQuick --check NPB",
        )
    return frame_of(WeakScaling, kernels)


def measurements_of(campaign: Path, recompute: bool) -> "tuple[dict[CellKey, Series], str]":
    """Returns the cells of a campaign's timed launches, and why times of some lanes are no measurements."""
    from fabricbench.campaign.read import read_campaign
    from fabricbench.launch.function_only import function_only_reasons
    from fabricbench.launch.table import table
    from fabricbench.verdict.series import all_series

    records = read_campaign(campaign, recompute=recompute).records
    return all_series(table(records)), function_only_reasons(records)
