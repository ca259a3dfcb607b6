# SPDX-License-Identifier: Apache-2.0
"""Measures two sides in interleaved pairs (A B, B A, A B, …) and reports the median ratio and its interval."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import track

from fabricbench.stats.interval import median_interval

Value = TypeVar("Value")


def interleaved(
    first: Callable[[], Sequence[Value]], second: Callable[[], Sequence[Value]], pairs: int
) -> list[tuple[Sequence[Value], Sequence[Value]]]:
    """Measures ``pairs`` pairs. The order within a pair alternates."""
    values = []
    console = Console(stderr=True)
    for number in track(range(pairs), description="pairs", transient=True, console=console):
        if number % 2:
            b = second()
            a = first()
        else:
            a = first()
            b = second()
        values.append((a, b))
    return values


def line(name: str, values: Sequence[float], unit: str) -> str:
    """Returns a row of a Markdown table: median and 95 % interval over the pairs."""
    interval = median_interval(values, 0.95)
    low, high = interval.low, interval.high
    bounds = "-" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    return f"| {name} | {interval.estimate:.3f} {unit} | {bounds} | {interval.n} |"
