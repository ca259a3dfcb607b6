# SPDX-License-Identifier: Apache-2.0
"""The project's own benchmarks as ``fabricbench-micro --describe`` prints them.

``benchmarks.json`` beside this module is a copy of that output. A test compares the copy with the program of every
stack. To renew it: ``build/stacks/STACK/apps/bin/fabricbench-micro --describe > …/benchmarks.json``.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from fabricbench.parsers.quantities import Quantity

TOOL = "micro"
"""The tool of the project's own benchmarks, as in the long table."""

FILE = Path(__file__).with_name("benchmarks.json")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReportedMetric(_Model):
    """A value in the table; ``bandwidth``: there is none for messages of 0 bytes."""

    name: str
    bandwidth: bool


class Choice(_Model):
    """The words that the benchmark measures one after the other, as part ``key=word`` of the case."""

    key: str
    values: tuple[str, ...]


class Amount(_Model):
    """The numbers that the option ``--key`` accepts, ``least`` to ``most``; each is a part ``key=number`` of a case."""

    key: str
    defaults: tuple[int, ...]
    least: int
    most: int


class Held(_Model):
    """Messages of the largest size that the buffers of one rank hold: ``messages + per_rank * ranks``."""

    messages: int
    per_rank: int


class Picture(_Model):
    """A drawing in the report: ``metric`` over the message size, for every case that has ``only``.

    ``over``: the key of the case on the horizontal axis instead; then there is a drawing for each of ``sizes``, in
    bytes.
    """

    metric: str
    only: str
    over: str
    sizes: tuple[int, ...]


class Section(_Model):
    """A section of the report. Benchmarks with the same ``key`` share it; ``place`` is its order on the page."""

    key: str
    title: str
    note: str
    place: int


class Benchmark(_Model):
    """The record of one benchmark (``Benchmark`` in ``apps/micro/benchmark.hpp``).

    ``samples``: the names of what it times. ``base``: the part of the case that ``latency_ratio`` divides by.
    ``rounds``: it measures every rank pair. ``size_unit``: message sizes are multiples of this many bytes.
    ``adaptive``: it adds sizes where its curve bends, so a launch has more sizes than it was given. ``role``: the
    quantity that public tools measure too. ``section``: where the report draws ``pictures``.
    """

    name: str
    summary: str
    ranks: Literal["pairs", "two_or_more", "any"]
    sized: bool
    size_unit: int
    adaptive: bool
    rounds: bool
    choice: Choice | None
    amount: Amount | None
    samples: tuple[str, ...]
    metrics: tuple[ReportedMetric, ...]
    base: str
    held: Held
    role: Annotated[Quantity | None, BeforeValidator(lambda role: role or None)]
    section: Section | None
    pictures: tuple[Picture, ...]

    @property
    def mean(self) -> str:
        """The metric that is a mean over the iterations of a launch; StopIteration if there is none."""
        return next(metric.name for metric in self.metrics if metric.name.endswith("_mean"))

    @property
    def default_amounts(self) -> tuple[int, ...]:
        """The default values of the amount; empty if the benchmark has none."""
        return self.amount.defaults if self.amount else ()

    def cases(self, amounts: Sequence[int] = ()) -> Iterator[str]:
        """The cases of a launch with these amounts, or with the default ones: ``queued=16 tags=equal``."""
        numbers = [f"{self.amount.key}={n}" for n in amounts or self.default_amounts] if self.amount else [""]
        words = [f"{self.choice.key}={word}" for word in self.choice.values] if self.choice else [""]
        for number in numbers:
            for word in words:
                yield " ".join(sorted(part for part in (number, word) if part))

    def held_by(self, ranks: int) -> int:
        """Messages of the largest size that one of ``ranks`` ranks holds."""
        return self.held.messages + self.held.per_rank * ranks


class Description(_Model):
    """All benchmarks; ``barriers_per_calibration``: barriers in each interval that calibrates the witness."""

    schema_: Literal[2]
    barriers_per_calibration: int
    benchmarks: tuple[Benchmark, ...]

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=lambda name: name.rstrip("_"))


DESCRIPTION = Description.model_validate_json(FILE.read_bytes())
MEASURED = {benchmark.name: benchmark for benchmark in DESCRIPTION.benchmarks if benchmark.samples}
"""The benchmarks that measure something, by name."""
(WIREUP,) = (benchmark.name for benchmark in DESCRIPTION.benchmarks if not benchmark.samples)
"""The one benchmark that sends no message: it measures the wire-up."""
