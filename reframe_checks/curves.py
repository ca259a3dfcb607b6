# SPDX-License-Identifier: Apache-2.0
"""The curves that attributions need, in few launches: messages, exchanges, collectives of up to 32 MiB.

They are the micro-benchmarks of the same names with all sizes in one launch and few iterations. The case
``use=attribution`` keeps them apart.
"""

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.launch.facts import Scalar

from .base import SELDOM
from .micro import COLLECTIVES, Micro, MicroCollective

CASE: dict[str, Scalar] = {"use": "attribution"}
LARGE = ("alltoall",)
"""The collectives whose large blocks applications such as FT exchange."""


@rfm.simple_test
class CurveMessages(Micro):
    descr = "the parameters of P-LogP at all sizes, for the attribution of applications"
    tags = SELDOM
    benchmark = "plogp"
    case = CASE
    messages = parameter([None])
    iterations = 50


@rfm.simple_test
class CurveExchange(Micro):
    descr = "both ranks of a pair send at once, for the attribution of applications"
    tags = SELDOM
    benchmark = "bidirectional"
    case = CASE
    messages = parameter([None])
    iterations = 50
    amounts = (1,)


@rfm.simple_test
class CurveCollective(MicroCollective):
    """All-to-all reaches 32 MiB, the block of FT.A on two ranks: its buffers are larger than caches."""

    descr = "a collective at all sizes, for the attribution of applications"
    tags = SELDOM
    case = CASE
    collective = parameter(COLLECTIVES, loggable=True)
    messages = parameter([None])
    iterations = 50
    largest_block = variable(int, value=2**25)

    @run_after("init")
    def enlarge(self) -> None:
        if self.collective in LARGE:
            self.largest_bytes = self.largest_block


@rfm.simple_test
class CurveBarrier(Micro):
    descr = "a barrier, for the attribution of applications"
    tags = SELDOM
    benchmark = "barrier"
    case = CASE
    messages = parameter(["small"])
    iterations = 50
