# SPDX-License-Identifier: Apache-2.0
"""IMB-P2P of the Intel MPI Benchmarks: patterns of point-to-point communication of all ranks at once."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabricbench.parsers.tools.imb_p2p import TABLES
from fabricbench.site.scale import RANK_PAIRS, Breadth, ScaleRule

from .base import SELDOM, own_scale, scales
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
    breadth: Breadth = "ends"
    at = parameter(scales(RANK_PAIRS, "ends"), loggable=True)

    @property
    def scale_rule(self) -> ScaleRule:
        return RANK_PAIRS


@rfm.simple_test
class ImbP2PStencil(CoresMixin, ImbP2P):
    """A stencil on a grid with at least two ranks in each dimension."""

    descr = "IMB-P2P, a stencil"
    stencil = parameter(["Stencil2D", "Stencil3D"], loggable=True)
    at = parameter(own_scale(), loggable=True)
    largest_bytes = 2**20

    @property
    def least_ranks(self) -> int:
        """The ranks of a grid with two in each dimension."""
        return 4 if self.stencil == "Stencil2D" else 8

    @property
    def scale_rule(self) -> ScaleRule:
        return ScaleRule(least_ranks=self.least_ranks, power_of_two=True)

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.stencil.lower()
        self.names = (self.stencil,)
        self.ranks = self.ranks if self.chosen_scale else self.least_ranks
