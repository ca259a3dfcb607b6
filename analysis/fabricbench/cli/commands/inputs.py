# SPDX-License-Identifier: Apache-2.0
"""``fabricbench inputs``."""

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import INTERRUPTED
from fabricbench.cli.output import say, warn

OnlySystems = Annotated[list[str] | None, typer.Argument(help="villin, lzm or dppc; all three by default")]
Copies = Annotated[int, typer.Option(help="1 to 8 copies of each system, side by side, for larger machines")]
Directory = Annotated[Path | None, typer.Option(help="write here, not to build/inputs/gromacs")]


def inputs(name: OnlySystems = None, copies: Copies = 1, directory: Directory = None) -> None:
    """Makes and checks the GROMACS inputs that are missing."""
    from fabricbench.inputs.cache import cache_root
    from fabricbench.inputs.recipes import SYSTEMS, checked_copies, system
    from fabricbench.setup.gromacs.build import build

    wanted = [system(item) for item in dict.fromkeys(name or SYSTEMS)]
    root = directory.resolve() if directory else cache_root()
    try:
        build(wanted, checked_copies(copies), root, say)
    except KeyboardInterrupt:
        warn("interrupted; run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None
