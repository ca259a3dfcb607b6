# SPDX-License-Identifier: Apache-2.0
"""``fabricbench site new``."""

from typing import Annotated

import typer

from fabricbench.cli.options import BAD_INPUT
from fabricbench.cli.output import print_problems, say

site = typer.Typer(no_args_is_help=True, help="Writes the folder of a new site: site new NAME.")

NameArgument = Annotated[str, typer.Argument(help="name of the system, and of its folder in site/", show_default=False)]
Partition = Annotated[str, typer.Option(help="Slurm's partition to describe; default: Slurm's default one")]
NodeCount = Annotated[
    int | None, typer.Option("--nodes", min=1, help="number of nodes of a launch; default: 2", show_default=False)
]
Local = Annotated[bool, typer.Option("--local", help="describe this machine alone, even if it has Slurm")]


@site.callback()
def _group() -> None:
    """Writes the folder of a new site."""


@site.command()
def new(name: NameArgument, partition: Partition = "", nodes: NodeCount = None, local: Local = False) -> None:
    """Looks at this machine, its Slurm and one of its nodes, and writes site/NAME.

    Lists the problems of the new site as doctor --site does. Never replaces a file.
    """
    from datetime import date

    from fabricbench.discovery.survey import survey
    from fabricbench.discovery.write import demand_new, write_site
    from fabricbench.doctor.lanes import examine_site

    demand_new(name)
    machine = survey(say, partition=partition, nodes=nodes, local=local)
    for file in write_site(name, machine, date.today().isoformat()):
        say(f"written: {file}")
    problems, summary = examine_site(name)
    if summary:
        say(summary)
    if print_problems(problems):
        raise typer.Exit(BAD_INPUT)
