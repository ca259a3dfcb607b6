# SPDX-License-Identifier: Apache-2.0
"""The curves that attributions need, in few launches: messages, exchanges, a barrier, and collectives.

They are the micro-benchmarks of the same names with all sizes in one launch and few iterations. The case
``use=attribution`` keeps them apart.
"""

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from fabricbench.launch.facts import Scalar

from .base import SELDOM
from .base.lane import gromacs_stacks
from .micro import COLLECTIVES, AnyCollective, Micro

CASE: dict[str, Scalar] = {"use": "attribution"}
LARGE = ("alltoall",)
"""The collectives whose large blocks applications such as FT exchange."""


class Messages(Micro):
    """One message at a time, at all sizes."""

    descr = "the parameters of P-LogP at all sizes, for the attribution of applications"
    benchmark = "plogp"
    case = CASE
    messages = parameter([None])
    iterations = 50


class Collective(AnyCollective):
    """One collective at all sizes. All-to-all reaches ``largest_block``."""

    descr = "a collective at all sizes, for the attribution of applications"
    case = CASE
    messages = parameter([None])
    iterations = 50
    largest_block = variable(int, value=2**25)  # the block of FT.A on two ranks; larger than caches

    @run_after("init")
    def enlarge(self) -> None:
        if self.collective in LARGE:
            self.largest_bytes = self.largest_block


@rfm.simple_test
class CurveMessages(Messages):
    tags = SELDOM


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
class CurveCollective(Collective):
    tags = SELDOM
    collective = parameter(COLLECTIVES, loggable=True)


@rfm.simple_test
class QuickMessages(Messages):
    """Runs on the stacks of ``NasQuickProfile``, whose profiles need these curves."""

    tags = {"quick"}
    largest_bytes = 2**17
    iterations = 20

    @run_after("init")
    def choose_stacks(self) -> None:
        self.valid_prog_environs = gromacs_stacks()


@rfm.simple_test
class QuickCollective(Collective):
    """Runs on the stacks of ``NasQuickProfile``, up to the 2 MiB blocks that FT.W exchanges on two ranks."""

    tags = {"quick"}
    collective = parameter(["allreduce", "alltoall"], loggable=True)
    largest_bytes = 2**14
    largest_block = 2**21
    iterations = 20

    @run_after("init")
    def choose_stacks(self) -> None:
        self.valid_prog_environs = gromacs_stacks()


@rfm.simple_test
class CurveBarrier(Micro):
    descr = "a barrier, for the attribution of applications"
    tags = SELDOM
    benchmark = "barrier"
    case = CASE
    messages = parameter(["small"])
    iterations = 50
