# SPDX-License-Identifier: Apache-2.0
"""IMB-RMA of the Intel MPI Benchmarks: one-sided communication with passive targets."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabricbench.parsers.tools.imb_rma import TABLES

from .base import SELDOM
from .base.imb import Imb

FAMILIES = {
    "put": (
        *("Unidir_put", "Bidir_put", "Put_local", "Put_all_local"),
        *("One_put_all", "All_put_all", "Exchange_put"),
    ),
    "get": (
        *("Unidir_get", "Bidir_get", "Get_local", "Get_all_local"),
        *("One_get_all", "All_get_all", "Exchange_get"),
    ),
    "accumulate": ("Accumulate", "Get_accumulate"),
}
"""The benchmarks of each launch. They make the same call, so that attestation notices if it uses another transport."""


class ImbRma(Imb):
    """The base of the leaves below. They omit 0 bytes, for which a stack need not send anything."""

    tool = "imb_rma"
    suite = "IMB-RMA"
    tables = TABLES
    tags = SELDOM
    smallest_bytes = 4  # accumulate works on floats
    largest_bytes = 2**20
    empty = False


@rfm.simple_test
class ImbOneSided(ImbRma):
    descr = "IMB-RMA, the benchmarks of one operation"
    operation = parameter(list(FAMILIES), loggable=True)

    @run_after("init")
    def choose(self) -> None:
        self.benchmark = self.operation
        self.names = FAMILIES[self.operation]


@rfm.simple_test
class ImbAtomics(ImbRma):
    descr = "IMB-RMA Fetch_and_op, Compare_and_swap"
    benchmark = "atomics"
    messages = parameter(["small"])
    names = ("Fetch_and_op", "Compare_and_swap")
    largest_bytes = 4  # a single element
    repetitions = 1000


@rfm.simple_test
class ImbPassivePut(ImbRma):
    descr = "IMB-RMA Truly_passive_put: a put to a target that computes"
    benchmark = "truly_passive_put"
    names = ("Truly_passive_put",)
