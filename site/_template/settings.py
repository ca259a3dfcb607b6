# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster. Copy this folder and keep the fabrics that your cluster has (docs/add-a-site.md).

A fabric is a network of some nodes, which a Slurm partition gives. The table in README.md beside this file lists the
source of the settings of each stack, and which of them have been tested.
"""

from fabricbench.launch.configuration import reframe_configuration
from fabricbench.site.fabric import Fabric, Nodes, Scheduler
from fabricbench.site.system import System

# Names in site/stacks.py. spack/stacks.yaml lists those that Spack builds.
STACKS = ["mpich", "openmpi", "mvapich2", "mpich-ofi"]
# Libraries below MPI: server on one node, client on another.
LIBRARIES = ["sockets", "libfabric", "ucx", "verbs"]

# access: options of salloc and srun, such as a partition (sinfo -o %P) or an account ("--account=…").
# exclusive=False on a cluster that does not lend whole nodes; the ports' counters then include other jobs' traffic.
# pmi={"openmpi": "pmix_v4"} if `srun --mpi=list` does not offer the stack's PMI (site/stacks.py).
# Nodes(processor="x86-64-v3"), the level of the nodes, lets `doctor --site` check what the NAS kernels are built for.
SLURM = Scheduler(name="slurm", launcher="srun", access=["--partition=compute"])
NODES = Nodes(count=2, cores=64)

# variables override those of site/stacks.py; stack_variables override both. ports: names of `ip link` and of
# `ls /sys/class/infiniband`; attestation reads their counters on each node.
INFINIBAND = Fabric(
    name="ib",
    transport="verbs",
    stacks=["mpich", "openmpi", "mvapich2", "libfabric", "ucx", "verbs"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["mlx5_0:1"],
    variables={"UCX_NET_DEVICES": "mlx5_0:1"},
    stack_variables={"mvapich2": {"MV2_IBA_HCA": "mlx5_0"}},
)

# GID: one of type "RoCE v2" in /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/, the same number on every node.
# On soft-RoCE, the GID of an IPv6 address works; that of an IPv4 address timed out. Soft-RoCE counts packets only,
# acknowledgements included; ports is then the interface of the adapter, ["eth0"].
ROCE = Fabric(
    name="roce",
    transport="verbs",
    stacks=["mpich", "openmpi", "mvapich2", "libfabric", "ucx", "verbs"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["mlx5_1:1"],
    gid_index=3,
    variables={"UCX_NET_DEVICES": "mlx5_1:1", "UCX_IB_GID_INDEX": "3"},
    stack_variables={"mvapich2": {"MV2_IBA_HCA": "mlx5_1", "MV2_USE_RoCE": "1", "MV2_DEFAULT_GID_INDEX": "3"}},
)

# iWARP connects through the RDMA connection manager. UCX does not support it: mpich cannot use this fabric, and openmpi
# uses libfabric, which uses another adapter if FI_VERBS_DEVICE_NAME does not name this one. MVAPICH2 needs each node's
# own address in the node's /etc/mv2.conf. Software iWARP has no counters; ports is then the interface, ["eth0"].
IWARP = Fabric(
    name="iwarp",
    transport="verbs",
    stacks=["openmpi", "mvapich2", "mpich-ofi", "libfabric", "verbs"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["irdma0:1"],
    rdma_cm=True,
    variables={"FI_VERBS_DEVICE_NAME": "irdma0"},
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
)

# Omni-Path adapters need the provider opx or psm2; psm3, the default, is for Ethernet and for Intel's RoCE adapters.
# The stack's libfabric must have the provider: fi_info -p opx.
OMNI_PATH = Fabric(
    name="opa",
    transport="psm",
    stacks=["mpich-ofi"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["hfi1_0:1"],
    stack_variables={"mpich-ofi": {"FI_PROVIDER": "opx"}},
)

# The adapter's counters come from its telemetry, which has not been tested on any machine. With optional attestation,
# launches without these counters pass as unknown; bytes on sockets still refute a launch.
SLINGSHOT = Fabric(
    name="slingshot",
    transport="cxi",
    stacks=["mpich-ofi"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["cxi0"],
    attestation="optional",
)

# Each stack has its own variable for the interface. Without it a stack uses all interfaces, IP over InfiniBand too.
ETHERNET = Fabric(
    name="eth",
    transport="tcp",
    stacks=["mpich", "openmpi", "sockets", "libfabric", "ucx"],
    scheduler=SLURM,
    nodes=NODES,
    ports=["eth0"],
    variables={"UCX_NET_DEVICES": "eth0", "OMPI_MCA_btl_tcp_if_include": "eth0", "FI_TCP_IFACE": "eth0"},
)

# PBS and Flux: one of the lines below in place of SLURM. The stack's own mpirun starts the ranks; it must have been
# built to find the nodes of the job. Each launch is a job of its own (reframe -r): `fabricbench run` takes one
# allocation per block from Slurm only, and `fabricbench doctor --site` checks Slurm only.
#     Scheduler(name="pbs", access=["-q workq"])
#     Scheduler(name="flux", access=["--queue=batch"])

# Modules, for a stack that needs them: modules=["libfabric/1.22"] of a Scheduler, and here modules_system="lmod"
# (or tmod4, envmod).
SYSTEM = System(
    name="template",  # the name of this folder
    file=__file__,
    description="a Slurm cluster",
    fabrics=[INFINIBAND, ROCE, IWARP, OMNI_PATH, SLINGSHOT, ETHERNET],
    stacks=STACKS + LIBRARIES,
)
site_configuration = reframe_configuration(SYSTEM)
