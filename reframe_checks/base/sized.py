# SPDX-License-Identifier: Apache-2.0
"""Benchmarks over message sizes. Small and large messages run in separate launches, so each is attested by itself."""

from reframe.core.builtins import parameter, variable

from .benchmark import Benchmark, BenchmarkMixin

LARGEST_SMALL_BYTES = 16384
"""The largest size that stacks usually send eagerly, and that collectives treat as short."""


class SizedMixin(BenchmarkMixin):
    """Message sizes that double.

    The launch ``small`` has 0 B to 16 KiB, the launch ``large`` has 32 KiB to ``largest_bytes``. ``empty`` says
    whether 0 B is included. ``step`` keeps every ``step``-th power of two.
    """

    messages = parameter(["small", "large"], loggable=True)
    smallest_bytes = variable(int, value=1, loggable=True)
    largest_bytes = variable(int, value=4 * 2**20, loggable=True)
    step = variable(int, value=1)
    empty = True

    def sizes(self) -> tuple[int, ...]:
        """Returns the message sizes of this launch in bytes."""
        powers = [2**k for k in range(0, self.largest_bytes.bit_length(), self.step)]
        small = tuple(size for size in powers if self.smallest_bytes <= size <= LARGEST_SMALL_BYTES)
        small = (0, *small) if self.empty else small
        large = tuple(size for size in powers if size > LARGEST_SMALL_BYTES)
        return {"small": small, "large": large}.get(self.messages, small + large)

    def sizes_skip(self) -> tuple[str, str] | None:
        if self.sizes():
            return None
        kinds = {"small": f" up to {LARGEST_SMALL_BYTES} B", "large": f" above {LARGEST_SMALL_BYTES} B"}
        reason = f"no message size{kinds.get(self.messages, '')} from {self.smallest_bytes} to {self.largest_bytes} B"
        return reason, "set another smallest_bytes or largest_bytes to measure some"

    def full_sizes(self) -> tuple[int, ...]:
        """Returns the sizes above 0: empty messages have no bandwidth."""
        return tuple(size for size in self.sizes() if size)


class SizedBenchmark(SizedMixin, Benchmark):
    """An MPI program over message sizes."""
