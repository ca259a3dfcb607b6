# SPDX-License-Identifier: Apache-2.0
"""An MPI stack and a library below MPI whose commands are shell scripts (``system_commands``)."""

from fabricbench.site.stacks import Debian, Stack

MPI = Stack(
    name="mine",
    debian=Debian(packages=("mine",), commands={role: f"{role}.mine" for role in ("mpirun", "mpicc", "mpicxx")}),
    transports={"tcp": {"MINE_NET": "tcp"}, "shm": {}},
)
LIBRARY = Stack(name="lib", level="user", programs={"ping": ("ping", "--version")}, own={"pong": "OPTION"})
