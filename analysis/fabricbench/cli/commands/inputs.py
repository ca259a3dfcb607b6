# SPDX-License-Identifier: Apache-2.0
"""``fabricbench inputs``."""

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.cli.options import INTERRUPTED
from fabricbench.cli.output import say, warn

OnlySystems = Annotated[list[str] | None, typer.Argument(help="villin, lzm or dppc; all three by default")]
Copies = Annotated[int, typer.Option(help="1 to 8 copies of each system, side by side, for larger machines")]
Directory = Annotated[Path | None, typer.Option(help="directory for the inputs, instead of build/inputs/gromacs")]


def inputs(name: OnlySystems = None, copies: Copies = 1, directory: Directory = None) -> None:
    """Prepares the GROMACS inputs (.tpr) from the committed systems; inputs that are up to date are kept."""
    from fabricbench.inputs.cache import input_cache_root
    from fabricbench.inputs.systems import checked_copies, known_systems, system
    from fabricbench.setup.gromacs.prepare import prepare_inputs

    systems = [system(item) for item in dict.fromkeys(name or known_systems())]
    root = directory.resolve() if directory else input_cache_root()
    try:
        prepare_inputs(systems, checked_copies(copies), root, say)
    except KeyboardInterrupt:
        warn("interrupted; run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None
