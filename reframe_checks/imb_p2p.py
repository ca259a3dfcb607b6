# SPDX-License-Identifier: Apache-2.0
"""IMB-P2P of the Intel MPI Benchmarks: patterns of point-to-point communication of all ranks at once."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabricbench.parsers.tools.imb_p2p import TABLES

from .base import SELDOM
from .base.cores import CoresMixin
from .base.imb import Imb


class ImbP2P(Imb):
    """The base of the leaves below."""

    tool = "imb_p2p"
    suite = "IMB-P2P"
    tables = TABLES
    tags = SELDOM

    def arguments(self) -> list[str]:
        return [*self.names, "-msglen", f"{self.stagedir}/sizes", "-iter", str(self.count)]


@rfm.simple_test
class ImbP2PPairs(ImbP2P):
    descr = "IMB-P2P PingPong, PingPing, SendRecv_Replace, Unirandom, Birandom, Corandom"
    benchmark = "pairs"
    names = ("PingPong", "PingPing", "SendRecv_Replace", "Unirandom", "Birandom", "Corandom")


@rfm.simple_test
class ImbP2PStencil(CoresMixin, ImbP2P):
    """A stencil on a grid with at least two ranks in each dimension."""

    descr = "IMB-P2P, a stencil"
    stencil = parameter(["Stencil2D", "Stencil3D"], loggable=True)
    largest_bytes = 2**20

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.stencil.lower()
        self.names = (self.stencil,)
        self.ranks = 4 if self.stencil == "Stencil2D" else 8
