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
On = Annotated[
    str | None, typer.Option("--on", metavar="LANE", help="predict each application on this lane, beside a back-test")
]
Explain = Annotated[
    str | None, typer.Option("--explain", metavar="APPLICATION/LANE", help="show how the numbers follow from the files")
]
Ranks = Annotated[bool, typer.Option("--ranks", help="print a row for each rank of each application")]
Sensitivity = Annotated[
    bool, typer.Option("--sensitivity", help="print how the run time depends on injected delays (run --inject)")
]


def attribute(
    campaign: CampaignPath,
    calls: Calls = False,
    ranks: Ranks = False,
    explain: Explain = None,
    on: On = None,
    sensitivity: Sensitivity = False,
    format: Format = "text",
    output: Output = None,
    recompute: Recompute = False,
) -> None:
    """Prints where the time of each profiled application went: computation, latency, bandwidth, waiting, rest."""
    from fabricbench.cli.tables import write, write_lines
    from fabricbench.verdict.attribution_tables import parts_by_call, parts_by_rank

    if sum((calls, ranks, explain is not None, on is not None, sensitivity)) > 1:
        raise BadInput("several tables", expected="one of --calls, --ranks, --explain, --on, --sensitivity")
    if sensitivity:
        from fabricbench.cli.sensitivity import print_sensitivity

        print_sensitivity(campaign, format=format, output=output, recompute=recompute)
        return
    found = attributions_of(campaign, recompute=recompute)
    if explain is not None:
        from fabricbench.verdict.explain_attribution import explain_attribution

        write_lines("--explain", explain_attribution(explain, found), format, output)
    elif on is not None:
        from fabricbench.verdict.frames import frame_of
        from fabricbench.verdict.prediction import PredictionRow, predictions

        rows = predictions(on, found.items, found.launches, found.curves, found.confidence)
        write(frame_of(PredictionRow, rows), format, output)
    elif calls or ranks:
        write(parts_by_call(found.items) if calls else parts_by_rank(found.items), format, output)
    else:
        _write(found, format, output)


def _write(found: "Attributions", format: str, output: Path | None) -> None:
    """Writes the table of all attributions; as text a short one, a sentence for each, and the refused profiles."""
    from fabricbench.cli.tables import text_of, write, write_lines
    from fabricbench.verdict.attribution_tables import attribution_table, short_table
    from fabricbench.verdict.sentences import refusal, sentence

    if format != "text":
        write(attribution_table(found), format, output)
        return
    table = short_table(found.items)
    lines = [] if table.is_empty() else text_of(table).splitlines()
    for one in found.items:
        lines.append(sentence(one))
        lines += [f"  no curve of {curve}; measure it: {command}" for curve, command in one.missing]
        lines += [f"  {note}" for note in one.notes]
    lines += [refusal(refused) for refused in found.refused]
    write_lines("attribute", lines, format, output)


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
