# SPDX-License-Identifier: Apache-2.0
"""Builds MPICH over Myrinet Express. 3.1.4 is the last release with the network module mx."""

from spack.package import *
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
from spack_repo.builtin.packages.mpich.package import MpichEnvironmentModifications


class MpichMx(MpichEnvironmentModifications, AutotoolsPackage):
    """MPICH 3.1.4 with the device ch3:nemesis:mx, on any library of MX's interface 3.1 or later."""

    homepage = "https://www.mpich.org"
    url = "https://www.mpich.org/static/downloads/3.1.4/mpich-3.1.4.tar.gz"

    version("3.1.4", sha256="f68b5330e94306c00ca5a1c0e8e275c7f53517d01d6c524d51ce9359d240466b")

    variant("fortran", default=True, description="The Fortran bindings")

    provides("mpi@:3.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("findutils", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mx-api")

    filter_compiler_wrappers("mpicc", "mpicxx", "mpif77", "mpif90", "mpifort", relative_root="bin")

    def patch(self):
        """Replaces -lmx by -lmyriexpress, the library's name in MX and Open-MX."""
        filter_file(r"-lmx\b", "-lmyriexpress", "configure")

    def flag_handler(self, name, flags):
        if name == "fflags" and self.spec.satisfies("%gcc@10:"):
            flags.append("-fallow-argument-mismatch")
        return flags, None, None

    def configure_args(self):
        return [
            "--with-device=ch3:nemesis:mx",
            f"--with-mx={self.spec['mx-api'].prefix}",
            "--with-pm=hydra",
            "--enable-shared",
            "--enable-wrapper-rpath=yes",
            "--disable-maintainer-mode",
            "--without-ibverbs",
            *self.enable_or_disable("fortran"),
        ]
