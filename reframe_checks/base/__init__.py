# SPDX-License-Identifier: Apache-2.0
"""Base classes of all checks: the lane, the job, the facts of a launch, its record and its metrics."""

from .benchmark import Benchmark as Benchmark
from .client_server import ClientServerBenchmark as ClientServerBenchmark
from .client_server import SizedClientServerBenchmark as SizedClientServerBenchmark
from .cores import processors as processors
from .launch import SELDOM as SELDOM
from .sized import SizedBenchmark as SizedBenchmark
from .sized import SizedMixin as SizedMixin
