# SPDX-License-Identifier: Apache-2.0
"""Builds this project's own programs from the checkout that holds the recipe."""

import os

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage

LIBRARIES = {
    "mpich": "MPICH",
    "mpich-mx": "MPICH",
    "mvapich": "MVAPICH",
    "mvapich2": "MVAPICH2",
    "openmpi": "Open MPI",
}
"""By package: how each library names itself in MPI_Get_library_version."""
ON_ANY_MACHINE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Lets Open MPI start as root, and more ranks than cores."""


class Fabricbench(CMakePackage):
    """Micro-benchmarks, NAS kernels, launch wrapper and witness that compare MPI stacks on interconnects."""

    license("Apache-2.0")

    version("0.1.0")  # spack.yaml develops it: the sources are this checkout

    variant("fortran", default=True, description="The NAS kernels CG and FT")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("mpi@3:")

    root_cmakelists_dir = "apps"

    def cmake_args(self):
        mpi = self.spec["mpi"]
        args = [
            self.define("MPI_C_COMPILER", mpi.mpicc),
            self.define("MPI_CXX_COMPILER", mpi.mpicxx),
            self.define("MPIEXEC_EXECUTABLE", mpi.prefix.bin.mpiexec),
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
            self.define("BUILD_TESTING", self.run_tests),
        ]
        return [*args, self.define("MPI_Fortran_COMPILER", mpi.mpifc)] if "+fortran" in self.spec else args

    def test_two_ranks(self):
        """Two ranks start, and load the MPI library that this package was built on"""
        output = self._on_two_ranks("fabricbench-micro", "wireup")
        check_outputs([f"#@mpi_library={LIBRARIES.get(self.spec['mpi'].name, '')}", "#@end=ok"], output)

    def test_integer_sort(self):
        """The NAS kernel IS verifies on two ranks"""
        check_outputs(["SUCCESSFUL"], self._on_two_ranks("fabricbench-is", "--class", "S"))

    def test_witness(self):
        """The witness writes a report for each rank"""
        witness = self.prefix.lib.join("libfabricbench_witness.so")
        preload = ["env", f"LD_PRELOAD={witness}", f"FABRICBENCH_WITNESS_DIR={os.getcwd()}"]
        self._on_two_ranks("fabricbench-micro", "wireup", before=preload)
        for rank in range(2):
            if not find(".", f"witness.*.{rank}.json"):
                raise RuntimeError(f"no report of rank {rank} in {os.getcwd()}")

    def test_profiler(self):
        """The profiler writes a file for the node"""
        profiler = self.prefix.lib.join("libfabricbench_profiler.so")
        preload = ["env", f"LD_PRELOAD={profiler}", f"FABRICBENCH_PROFILE={os.getcwd()}"]
        self._on_two_ranks("fabricbench-is", "--class", "S", before=preload)
        if not find(".", "profile.*.txt"):
            raise RuntimeError(f"no profile in {os.getcwd()}")

    def _on_two_ranks(self, program, *arguments, before=()):
        command = [*before, self.prefix.bin.join(program), *arguments]
        mpirun = Executable(self.spec["mpi"].prefix.bin.mpirun)
        expect = {"FABRICBENCH_EXPECT_RANKS": "2"}
        return mpirun("-np", "2", *command, output=str, error=str, extra_env=ON_ANY_MACHINE | expect)
