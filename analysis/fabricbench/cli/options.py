# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several commands share, and the exit statuses that several commands return."""

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.errors import BadInput, nearest

BAD_INPUT = 2
"""Exit status after invalid options or bad input."""

INTERRUPTED, TERMINATED = 130, 143
"""Exit statuses after Ctrl-C and after SIGTERM."""

FORMATS = ("text", "csv", "json", "parquet")
"""Output formats of a table."""


def known_format(format: str) -> str:
    """Returns ``format``; raises BadInput for a format that is not in ``FORMATS``."""
    if format not in FORMATS:
        raise BadInput(f"unknown format '{format}'", expected=nearest(format, FORMATS))
    return format


CampaignPath = Annotated[Path, typer.Argument(help="directory of the campaign", show_default=False)]
Format = Annotated[
    str, typer.Option("--format", "-f", help="output format: text, csv, json or parquet", callback=known_format)
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="write to this file instead of standard output")]
Reference = Annotated[
    Path | None,
    typer.Option(help="campaign to compare nodes, stacks and settings with", show_default=False),
]
Recompute = Annotated[
    bool, typer.Option("--recompute", help="derive every record from the campaign's files; ignore the cache")
]
SystemOption = Annotated[str, typer.Option(help="name of a directory in site/")]
LaneOption = Annotated[list[str] | None, typer.Option("--lane", help="use only this lane, STACK@FABRIC; repeatable")]
OtherRequirements = Annotated[Path | None, typer.Option(help="use this file instead of the campaign's requirements")]
