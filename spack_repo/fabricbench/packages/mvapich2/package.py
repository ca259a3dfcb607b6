# SPDX-License-Identifier: Apache-2.0
"""Spack's MVAPICH2 without its copy of the OSU micro-benchmarks."""

from spack_repo.builtin.packages.mvapich2.package import Mvapich2 as Builtin


class Mvapich2(Builtin):
    """Its own OSU micro-benchmarks are left out: 2.3.7 fails to link them with gcc 12, and in a view they would lie
    where those of the package osu-micro-benchmarks lie."""

    def configure_args(self):
        return [*super().configure_args(), "--disable-omb"]
