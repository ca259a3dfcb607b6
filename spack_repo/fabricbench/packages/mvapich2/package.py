# SPDX-License-Identifier: Apache-2.0
"""Builds Spack's MVAPICH2 without its copy of the OSU micro-benchmarks."""

from spack_repo.builtin.packages.mvapich2.package import Mvapich2 as Builtin


class Mvapich2(Builtin):
    """Leaves out MVAPICH2's copy of OSU. In 2.3.7 it does not link with gcc 12, and in a view it would collide with the
    package osu-micro-benchmarks."""

    def configure_args(self):
        return [*super().configure_args(), "--disable-omb"]
