# SPDX-License-Identifier: Apache-2.0
"""Builds the library of Open-MX, Myrinet Express over Ethernet, and on request its driver."""

import os
import sys

from spack.package import *
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage


class OpenMx(AutotoolsPackage):
    """Open-MX, wire and interface compatible with Myricom's MX. Its driver supports Linux to 4.10, and 5.15 to 6.1."""

    homepage = "https://open-mx.gitlabpages.inria.fr"
    git = "https://gitlab.inria.fr/open-mx/open-mx.git"

    license("GPL-2.0-only AND LGPL-2.1-only")

    version("1.5.4", tag="open-mx-1.5.4", commit="441f54b4485d6c42bd99e3a06dccacccf4caa1bc")

    variant(
        "linux",
        default="none",
        values=lambda release: True,
        description="Release of the kernel for which the driver is built, as in /lib/modules; none: the library only",
    )

    provides("mx-api@1.2")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")

    @property
    def kernel(self):
        """The kernel's release; None without the driver."""
        release = self.spec.variants["linux"].value
        return None if release == "none" else release

    def patch(self):
        """Changes the driver for Linux 5.15 to 6.1. Older kernels take it as it is."""
        if self.kernel and int(self.kernel.split(".")[0]) >= 5:
            repository = os.path.abspath(os.path.join(self.package_dir, *[os.pardir] * 4))
            Executable(sys.executable)(os.path.join(repository, "patches", "open-mx-1.5.4-linux-6.py"), ".")

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        driver = [f"--with-linux-release={self.kernel}"] if self.kernel else ["--disable-driver-build"]
        return ["--disable-hwloc", *driver]
