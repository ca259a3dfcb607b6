# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine: nodes in namespaces, joined by a link of chosen rate (``cluster.sh``, beside)."""

import os
from pathlib import Path

from fabricbench.site.settings import configuration, fabric, session, stack

SYSTEM = "vcluster"
SITE = Path(__file__).resolve().parent
RUN = Path("/run/fabricbench-vcluster")
STACKS = ["impi", "mpich", "openmpi"]
SESSION = session()


def made(name: str, otherwise: int) -> int:
    """What ``cluster.sh up`` was asked for; ``otherwise`` where it is not up."""
    try:
        lines = (RUN / "vcluster.env").read_text().splitlines()
    except OSError:
        return otherwise
    return next((int(value) for key, _, value in (line.partition("=") for line in lines) if key == name), otherwise)


PORTS = [f"eth{number}" for number in range(made("PORTS", 1))]

if (RUN / "slurm.conf").exists():
    os.environ.setdefault("SLURM_CONF", str(RUN / "slurm.conf"))

site_configuration = configuration(
    system=SYSTEM,
    descr="a Slurm cluster of nodes in namespaces on this machine",
    hostnames=[],
    fabrics=[
        fabric(
            "gige",
            transport="tcp",
            environs=STACKS,
            session=SESSION,
            site=SITE,
            scheduler="squeue",
            launcher="srun",
            access=["--partition=gige"],
            max_jobs=8,  # Slurm lets one at a time have the nodes
            nodes=made("NODES", 2),
            cores=made("CPUS", 1),
            ports=PORTS,
            env_vars={"UCX_NET_DEVICES": "eth0", "OMPI_MCA_btl_tcp_if_include": "eth0", "FI_TCP_IFACE": "eth0"},
        ),
    ],
    stacks=[stack(name, site=SITE, system=SYSTEM) for name in STACKS],
    session=SESSION,
)
