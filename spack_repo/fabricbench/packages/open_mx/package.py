# SPDX-License-Identifier: Apache-2.0
"""Builds the library of Open-MX, Myrinet Express over Ethernet. The administrator installs its driver."""

from spack.package import *
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage


class OpenMx(AutotoolsPackage):
    """Open-MX, wire and interface compatible with Myricom's MX. The driver supports Linux up to 4.11."""

    homepage = "https://open-mx.gitlabpages.inria.fr"
    git = "https://gitlab.inria.fr/open-mx/open-mx.git"

    license("GPL-2.0-only AND LGPL-2.1-only")

    version("1.5.4", tag="open-mx-1.5.4", commit="441f54b4485d6c42bd99e3a06dccacccf4caa1bc")

    provides("mx-api@1.2")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        return ["--disable-driver-build", "--disable-hwloc"]
