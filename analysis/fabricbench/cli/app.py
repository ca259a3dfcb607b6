# SPDX-License-Identifier: Apache-2.0
"""The program ``fabricbench``: its commands and its exit status after an error."""

import errno
import sys

import typer

from fabricbench.cli.commands.attribute import attribute
from fabricbench.cli.commands.compare import compare
from fabricbench.cli.commands.doctor import doctor
from fabricbench.cli.commands.inputs import inputs
from fabricbench.cli.commands.judge import judge
from fabricbench.cli.commands.nodes import nodes
from fabricbench.cli.commands.profile import profile
from fabricbench.cli.commands.provenance import provenance
from fabricbench.cli.commands.record import record
from fabricbench.cli.commands.report import report
from fabricbench.cli.commands.run import run
from fabricbench.cli.commands.scaling import scaling
from fabricbench.cli.commands.setup import setup
from fabricbench.cli.commands.site import site
from fabricbench.cli.commands.table import table
from fabricbench.cli.options import BAD_INPUT
from fabricbench.errors import BadInput

COMMANDS = (
    setup, inputs, doctor, run, table, record, profile, attribute, compare, scaling, nodes, provenance, judge, report,
)  # fmt: skip
"""In the order of ``fabricbench --help``."""

_USER_CAN_MEND = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Compares MPI stacks on interconnects, proves which transport carried the bytes, and judges machines.",
)
for _command in COMMANDS:
    app.command()(_command)
app.add_typer(site, name="site")


def main() -> None:
    """Runs the command line. An error that the user can correct is printed as one line; its exit status is 2."""
    try:
        app()
    except BadInput as error:
        print(f"fabricbench: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        if error.errno not in _USER_CAN_MEND:
            raise
        where = f"{error.filename}: " if error.filename else ""
        print(f"fabricbench: {where}cannot be written or read: {error.strerror}", file=sys.stderr)
        sys.exit(BAD_INPUT)
