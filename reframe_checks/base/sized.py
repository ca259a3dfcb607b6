# SPDX-License-Identifier: Apache-2.0
"""Benchmarks over message sizes: small and large messages never share a launch, so that neither hides the other."""

import reframe as rfm
from reframe.core.builtins import parameter, variable

from .benchmark import Benchmark

LARGEST_SMALL_BYTES = 16384
"""Up to here stacks send eagerly, and treat messages in collectives as short."""


class SizedMixin(rfm.RegressionTestPlugin):
    """A launch from 0 B to 16 KiB and one from 32 KiB to ``largest_bytes``, doubling; ``empty``: whether from 0 B."""

    messages = parameter(["small", "large"], loggable=True)
    smallest_bytes = variable(int, value=1, loggable=True)
    largest_bytes = variable(int, value=4 * 2**20, loggable=True)
    step = variable(int, value=1)
    empty = True

    def sizes(self) -> tuple[int, ...]:
        """Message sizes of this launch, in bytes: every ``step``-th power of two."""
        powers = [2**k for k in range(0, self.largest_bytes.bit_length(), self.step)]
        small = tuple(size for size in powers if self.smallest_bytes <= size <= LARGEST_SMALL_BYTES)
        small = (0, *small) if self.empty else small
        large = tuple(size for size in powers if size > LARGEST_SMALL_BYTES)
        return {"small": small, "large": large}.get(self.messages, small + large)

    def full_sizes(self) -> tuple[int, ...]:
        """Those with a byte to move: there is no bandwidth of empty messages."""
        return tuple(size for size in self.sizes() if size)


class SizedBenchmark(SizedMixin, Benchmark):
    """An MPI program over message sizes."""
