# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine. Its nodes are namespaces that a link of a chosen rate joins (``cluster.sh``)."""

import os
from pathlib import Path

from fabricbench.launch.configuration import reframe_configuration
from fabricbench.site.fabric import Fabric, Nodes, Scheduler
from fabricbench.site.system import System

RUN = Path("/run/fabricbench-vcluster")
STACKS = ["impi", "mpich", "openmpi"]
LIBRARIES = ["sockets", "libfabric", "ucx"]


def cluster(name: str, default: int) -> int:
    """Returns a number of the running cluster, as given to ``cluster.sh up``; ``default`` if it is not running."""
    try:
        lines = (RUN / "vcluster.env").read_text().splitlines()
    except OSError:
        return default
    return next((int(value) for key, _, value in (line.partition("=") for line in lines) if key == name), default)


NODES, CORES = cluster("NODES", 2), cluster("CPUS", 1)
# Ranks of nodes that share processors must not occupy them while they wait. MPICH has no such setting.
YIELD = {"OMPI_MCA_mpi_yield_when_idle": "1", "I_MPI_WAIT_MODE": "1"}
IS_SHARED = len(os.sched_getaffinity(0)) < NODES * CORES
PORTS = [f"eth{number}" for number in range(cluster("PORTS", 1))]

if (RUN / "slurm.conf").exists():
    os.environ.setdefault("SLURM_CONF", str(RUN / "slurm.conf"))

SYSTEM = System(
    name="vcluster",
    file=__file__,
    description="a Slurm cluster of nodes in namespaces on this machine",
    fabrics=[
        Fabric(
            name="gige",
            transport="tcp",
            stacks=STACKS + LIBRARIES,
            # Slurm runs one of the eight jobs at a time.
            scheduler=Scheduler(name="squeue", launcher="srun", access=["--partition=gige"], max_jobs=8),
            nodes=Nodes(count=NODES, cores=CORES, processor="native"),
            ports=PORTS,
            variants=["local-shm"] if CORES > 1 else [],
            variables={
                **{"UCX_NET_DEVICES": "eth0", "OMPI_MCA_btl_tcp_if_include": "eth0", "FI_TCP_IFACE": "eth0"},
                **(YIELD if IS_SHARED else {}),
            },
        ),
    ],
    stacks=STACKS + LIBRARIES,
)
site_configuration = reframe_configuration(SYSTEM)
