# SPDX-License-Identifier: Apache-2.0
"""What all checks share: the lane they run on, the launch they record, the wire-up they are attested against."""

from .benchmark import Benchmark as Benchmark
from .cores import processors as processors
from .launch import SELDOM as SELDOM
from .pair import PairBenchmark as PairBenchmark
from .pair import SizedPairBenchmark as SizedPairBenchmark
from .sized import SizedBenchmark as SizedBenchmark
from .sized import SizedMixin as SizedMixin
