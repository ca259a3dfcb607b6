# SPDX-License-Identifier: Apache-2.0
"""Makes committed systems anew: coordinates, topology, ``system.json`` with reference energies.

    PYTHONPATH=inputs/gromacs .venv/bin/python -m recipe [villin] [lzm] [dppc] [--directory build/recipe]

It takes GROMACS 2022 or newer with ``gmx_d``, and PyPI for the start of villin and lzm. Finished steps in DIRECTORY are
not repeated; delete it to start afresh.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fabricbench.errors import BadInput
from fabricbench.setup.gromacs.gmx import find_gromacs
from fabricbench.site.settings import build_root
from recipe.commit import commit, commit_reference
from recipe.equilibrate import equilibrate
from recipe.recipes import RECIPES


def main(names: Annotated[list[str] | None, typer.Argument()] = None, directory: Path | None = None) -> None:
    """Makes the named systems, or all of them."""
    root = (directory or build_root() / "recipe").resolve()
    try:
        for name in names or RECIPES:
            if name not in RECIPES:
                raise BadInput(f"no recipe of '{name}'", expected=", ".join(RECIPES))
            home = root / name
            home.mkdir(parents=True, exist_ok=True)
            gromacs = find_gromacs(home / "gmx.log", print)
            settled, values = equilibrate(RECIPES[name], home, gromacs, print)
            commit(RECIPES[name], settled, values, gromacs.version)
            commit_reference(name, home, gromacs, print)
    except BadInput as error:
        sys.exit(f"recipe: {error}")


if __name__ == "__main__":
    typer.run(main)
