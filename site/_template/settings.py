# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster: copy this folder, keep the fabrics that yours has (docs/add-a-site.md).

A fabric is a Slurm partition and a network of its nodes. Where the settings come from that make each stack use it, and
which of them were seen to work, is in the table of README.md beside this file.
"""

from pathlib import Path
from typing import Any

from fabricbench.site.settings import configuration, fabric, session, stack

SYSTEM = "template"  # the name of this folder
SITE = Path(__file__).resolve().parent
SESSION = session()

# Names in site/stacks.py; what Spack builds of them also stands in spack/stacks.yaml.
STACKS = ["mpich", "openmpi", "mvapich2", "mpich-ofi"]
PARTITION = "--partition=compute"  # sinfo -o %P; an account or a feature of nodes likewise: "--account=…"

# What all fabrics of this cluster have in common. exclusive=False where nodes are never given to one job alone: ports
# then count others' bytes too. Where `srun --mpi=list` does not offer a stack's PMI (site/stacks.py), a fabric says
# another: pmi={"openmpi": "pmix_v4"}.
SLURM: dict[str, Any] = {
    "session": SESSION,
    "site": SITE,
    "scheduler": "slurm",
    "launcher": "srun",
    "access": [PARTITION],
    "nodes": 2,
    "cores": 64,
}

# Variables of a fabric win over those of a stack, those in stack_variables over both. ports: what the counters of the
# nodes are read from, as `ip link` and `ls /sys/class/infiniband` name them; attestation needs them.
INFINIBAND = fabric(
    "ib",
    transport="verbs",
    environs=["mpich", "openmpi", "mvapich2"],
    ports=("mlx5_0:1",),
    env_vars={"UCX_NET_DEVICES": "mlx5_0:1"},
    stack_variables={"mvapich2": {"MV2_IBA_HCA": "mlx5_0"}},
    **SLURM,
)

# The GID: in /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/ a "RoCE v2", and the same number on every node.
# On soft-RoCE one of an IPv6 address; one of IPv4 timed out.
ROCE = fabric(
    "roce",
    transport="verbs",
    environs=["mpich", "openmpi", "mvapich2"],
    ports=("mlx5_1:1",),
    env_vars={"UCX_NET_DEVICES": "mlx5_1:1", "UCX_IB_GID_INDEX": "3"},
    stack_variables={"mvapich2": {"MV2_IBA_HCA": "mlx5_1", "MV2_USE_RoCE": "1", "MV2_DEFAULT_GID_INDEX": "3"}},
    **SLURM,
)

# Connections by the RDMA connection manager. UCX has no iWARP: MPICH by UCX cannot be here, and Open MPI goes by
# libfabric. MVAPICH2 wants each node's own address in its /etc/mv2.conf. Software iWARP has no counters of its own:
# then ports is the interface, ("eth0",).
IWARP = fabric(
    "iwarp",
    transport="verbs",
    environs=["openmpi", "mvapich2", "mpich-ofi"],
    ports=("irdma0:1",),
    stack_variables={
        "openmpi": {
            "OMPI_MCA_pml": "cm",
            "OMPI_MCA_mtl": "ofi",
            "OMPI_MCA_mtl_ofi_provider_include": "verbs;ofi_rxm",
            "OMPI_MCA_osc": "^ucx",
        },
        "mvapich2": {
            "MV2_USE_IWARP_MODE": "1",
            "MV2_USE_RDMA_CM": "1",
            "MV2_USE_SRQ": "0",
            "MV2_MAX_INLINE_SIZE": "64",
        },
    },
    **SLURM,
)

# opx or psm2 on Omni-Path adapters; psm3, the stack's own choice, is for Ethernet and Intel's RoCE adapters. The
# libfabric that the stack was built on must have the provider: fi_info -p opx.
OMNI_PATH = fabric(
    "opa",
    transport="psm",
    environs=["mpich-ofi"],
    ports=("hfi1_0:1",),
    stack_variables={"mpich-ofi": {"FI_PROVIDER": "opx"}},
    **SLURM,
)

# The adapter's own counters are read from its telemetry, which has been tried on no machine: optional lets launches
# pass that are unknown for want of them. Bytes on sockets refute all the same.
SLINGSHOT = fabric(
    "slingshot", transport="cxi", environs=["mpich-ofi"], ports=("cxi0",), attestation="optional", **SLURM
)

# Every stack needs its own name for the interface; without it each would use all that it finds, InfiniBand's too.
ETHERNET = fabric(
    "eth",
    transport="tcp",
    environs=["mpich", "openmpi"],
    ports=("eth0",),
    env_vars={"UCX_NET_DEVICES": "eth0", "OMPI_MCA_btl_tcp_if_include": "eth0", "FI_TCP_IFACE": "eth0"},
    **SLURM,
)

# PBS and Flux: in place of scheduler, launcher and access the lines below. The stack's own mpirun starts the ranks, and
# must have been built to find the job's nodes. Each launch is then a job of its own (reframe -r): only of Slurm does
# `fabricbench run` take one allocation for a block, and only Slurm is asked by `fabricbench doctor --site`.
#     "scheduler": "pbs", "launcher": "mpirun", "access": ["-q workq"],
#     "scheduler": "flux", "launcher": "mpirun", "access": ["--queue=batch"],

# Modules, where a stack does not start without: modules=["libfabric/1.22"] of a fabric, and here modules_system="lmod"
# (tmod4, envmod).
site_configuration = configuration(
    system=SYSTEM,
    descr="a Slurm cluster",
    hostnames=[],
    fabrics=[INFINIBAND, ROCE, IWARP, OMNI_PATH, SLINGSHOT, ETHERNET],
    stacks=[stack(name, site=SITE, system=SYSTEM) for name in STACKS],
    session=SESSION,
)
