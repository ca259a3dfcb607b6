# SPDX-License-Identifier: Apache-2.0
"""Prints how the run time of each application depends on injected delays."""

from pathlib import Path

from fabricbench.errors import BadInput


def print_sensitivity(campaign: Path, *, format: str, output: Path | None, recompute: bool) -> None:
    """Writes the table of sensitivities; as text the main columns. Raises BadInput if nothing was injected."""
    from fabricbench.campaign.read import read_campaign
    from fabricbench.cli.tables import write
    from fabricbench.launch.table import table
    from fabricbench.verdict.profiles import profiles
    from fabricbench.verdict.sensitivity import sensitivities
    from fabricbench.verdict.sensitivity_table import SHORT, sensitivity_table

    measured = read_campaign(campaign, recompute=recompute)
    rows, alpha = table(measured.records), measured.facts.alpha
    found = sensitivities(rows, profiles(rows, measured.records, alpha), alpha)
    if not found:
        raise BadInput(
            "no delay was injected",
            where=str(campaign),
            expected="launches of mode injected",
            hint="fabricbench run --check NPB --inject latency=5us,10us,20us",
        )
    frame = sensitivity_table(found)
    write(frame.select(SHORT) if format == "text" else frame, format, output)
