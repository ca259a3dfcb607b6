# SPDX-License-Identifier: Apache-2.0
"""Base classes of all checks: the lane, the job, the facts of a launch, its record and its metrics."""

from .benchmark import Benchmark as Benchmark
from .client_server import ClientServerBenchmark as ClientServerBenchmark
from .client_server import SizedClientServerBenchmark as SizedClientServerBenchmark
from .cores import processors as processors
from .injected import LEVELS as LEVELS
from .injected import InjectedMixin as InjectedMixin
from .launch import SELDOM as SELDOM
from .profiled import ProfiledMixin as ProfiledMixin
from .scale import own_scale as own_scale
from .scale import scales as scales
from .sized import SizedBenchmark as SizedBenchmark
from .sized import SizedMixin as SizedMixin
