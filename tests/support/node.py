# SPDX-License-Identifier: Apache-2.0
"""Calls of fabricbench-node without a launcher."""

import os
import socket

HOST = f"host.{socket.gethostname()}"
"""The name of the file with the node facts."""


def environment(**local_rank: str) -> dict[str, str]:
    """Returns the environment without the variables of any launcher except these."""
    launchers = ("MPI_", "OMPI_", "PMI", "SLURM_", "FABRICBENCH_")
    return {name: value for name, value in os.environ.items() if not name.startswith(launchers)} | local_rank
