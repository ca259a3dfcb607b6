# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine. Its nodes are emulated machines with RDMA devices in software (``cluster.sh``)."""

import os
from pathlib import Path

from fabricbench.launch.configuration import reframe_configuration
from fabricbench.site.fabric import Fabric, Nodes, Scheduler
from fabricbench.site.system import System

RUN = Path("/run/fabricbench-rdma")
STACKS = ["mpich", "openmpi", "mpich-ofi", "mvapich2", "mpich-mx", "verbs", "ucx", "libfabric", "sockets"]
EMULATED = "the machines are emulated, and their RDMA devices are software"
SLOWDOWN = 8.0
PROCESSOR = "x86-64-v3"  # of QEMU 7.2 without an accelerator; it has no AVX-512


def cluster(name: str, default: int) -> int:
    """Returns a number of the running cluster, as given to ``cluster.sh up``; ``default`` if it is not running."""
    try:
        lines = (RUN / "rdma.env").read_text().splitlines()
    except OSError:
        return default
    return next((int(value) for key, _, value in (line.partition("=") for line in lines) if key == name), default)


if (RUN / "slurm.conf").exists():
    os.environ.setdefault("SLURM_CONF", str(RUN / "slurm.conf"))

SLURM = Scheduler(name="squeue", launcher="srun", access=["--partition=rdma"], pmi={"openmpi": "pmix_v4"}, max_jobs=8)
# One rank on each node. On one node two ranks need two processors.
NODES = Nodes(count=cluster("NODES", 2), cores=1, processor=PROCESSOR)
ONE_NODE = Nodes(count=1, cores=cluster("CPUS", 2), processor=PROCESSOR)

# The port is the interface of the adapter rxe0, because rxe0 counts packets only, acknowledgements included.
# GID 2 is that of the IPv6 address. With that of an IPv4 address, datagrams of UCX 1.13 time out.
ROCE = Fabric(
    name="roce",
    transport="verbs",
    stacks=["mpich", "openmpi", "mvapich2", "verbs", "ucx"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["eth1"],
    adapter="rxe0:1",
    gid_index=2,
    variables={"UCX_NET_DEVICES": "rxe0:1", "UCX_IB_GID_INDEX": "2"},
    stack_variables={
        # Over connections (rc) Open MPI 4.1.4 hangs in MPI_Finalize: README.md.
        "openmpi": {"UCX_TLS": "ud_verbs,self"},
        "mvapich2": {"MV2_IBA_HCA": "rxe0", "MV2_USE_RoCE": "1", "MV2_DEFAULT_GID_INDEX": "2"},
    },
    function_only=EMULATED,
    slowdown=SLOWDOWN,
)
# UCX does not support iWARP. Without the name of the adapter, libfabric may use rxe0. siw0 has no counters.
IWARP = Fabric(
    name="iwarp",
    transport="verbs",
    stacks=["openmpi", "mpich-ofi", "mvapich2", "verbs", "libfabric"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["eth2"],
    adapter="siw0:1",
    rdma_cm=True,
    variables={"FI_VERBS_DEVICE_NAME": "siw0"},
    stack_variables={
        "openmpi": {
            "OMPI_MCA_pml": "cm",
            "OMPI_MCA_mtl": "ofi",
            "OMPI_MCA_mtl_ofi_provider_include": "verbs;ofi_rxm",
            "OMPI_MCA_osc": "^ucx",
        },
        # MVAPICH2 reads the address to use from /etc/mv2.conf (node.sh).
        "mvapich2": {
            "MV2_IBA_HCA": "siw0",
            "MV2_USE_IWARP_MODE": "1",
            "MV2_USE_RDMA_CM": "1",
            "MV2_USE_SRQ": "0",
            "MV2_MAX_INLINE_SIZE": "64",
        },
    },
    function_only=EMULATED,
    slowdown=SLOWDOWN,
)
ETHERNET = Fabric(
    name="eth",
    transport="tcp",
    stacks=["mpich", "openmpi", "mpich-ofi", "sockets"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["eth1"],
    variables={"UCX_NET_DEVICES": "eth1", "OMPI_MCA_btl_tcp_if_include": "eth1", "FI_TCP_IFACE": "eth1"},
    function_only=EMULATED,
    slowdown=SLOWDOWN,
)
# Open-MX on an Ethernet interface; the cluster has it with OPEN_MX only.
MYRINET = Fabric(
    name="mx",
    transport="mx",
    stacks=["mpich-mx"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["eth3"],
    function_only=EMULATED,
    slowdown=SLOWDOWN,
)
SHARED_MEMORY = Fabric(
    name="shm",
    transport="shm",
    stacks=["mpich", "openmpi"],
    scheduler=SLURM,
    nodes=ONE_NODE,
    function_only=EMULATED,
    slowdown=SLOWDOWN,
)

SYSTEM = System(
    name="rdma",
    file=__file__,
    description="a Slurm cluster of emulated machines with RDMA devices in software",
    fabrics=[ROCE, IWARP, MYRINET, ETHERNET, SHARED_MEMORY],
    stacks=STACKS,
)
site_configuration = reframe_configuration(SYSTEM)
