# SPDX-License-Identifier: Apache-2.0
"""Attributions with known parts: shares of T by lane, which vary a little by block and by rank."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fabricbench.models.parts import PARTS, Parts, RankParts, RunParts
from fabricbench.stats.interval import Interval, median_interval
from fabricbench.verdict.attribution import Attribution, Attributions, BlockAttribution, Refusal
from fabricbench.verdict.profiles import ProfileKey

SHARES = {"computation": 0.39, "latency": 0.02, "bandwidth": 0.48, "waiting": 0.09, "rest": 0.02}
CALLS = {"MPI_Alltoallv": 0.8, "MPI_Allreduce": 0.2}
"""The share of each function in the parts in MPI."""


@dataclass(frozen=True, slots=True)
class Attributed:
    """One application on one lane. ``seconds``: T of each block; ``shares``: parts as shares of T, which sum to 1.

    Rank i of n computes longer by the factor 1 + ``skew`` (2 i / (n - 1) - 1), and waits the less.
    """

    lane: str = "openmpi@tcp"
    benchmark: str = "is.B"
    ranks: int = 2
    seconds: tuple[float, ...] = (2.0, 2.01, 1.99, 2.02, 1.98, 2.0)
    shares: Mapping[str, float] = field(default_factory=lambda: SHARES)
    skew: float = 0.1
    label: str = "bandwidth"
    missing: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    profiler: str = "own"

    @property
    def attribution(self) -> Attribution:
        """The attribution with intervals over the blocks."""
        blocks = tuple(
            BlockAttribution(at, f"b{at:03d}", self._run(seconds), seconds * 1.001, seconds)
            for at, seconds in enumerate(() if self.missing else self.seconds)
        )
        means = [block.run.mean / block.run.time for block in blocks]
        waiting = [mean.waiting for mean in means]
        return Attribution(
            key=self._key(),
            blocks=blocks,
            seconds=_interval([block.run.time for block in blocks]),
            shares={name: _interval([getattr(mean, name) for mean in means]) for name in PARTS},
            efficiencies=self._efficiencies(blocks),
            closing_error=_interval([0.004 + 0.001 * block.block for block in blocks]),
            dilation=_interval([1.01 + 0.001 * block.block for block in blocks]),
            unexplained=_interval([block.run.unexplained for block in blocks]),
            waiting_low=_interval(waiting),
            waiting_high=_interval([mean.waiting + mean.undivided for mean in means]),
            calls=blocks[0].run.by_call() if blocks else {},
            ranks=tuple(rank.parts for rank in blocks[0].run.ranks) if blocks else (),
            label=self.label if blocks else "",
            agreement="timers 6 of 6",
            missing=self.missing,
            notes=self.notes,
        )

    def _key(self) -> ProfileKey:
        stack, _, fabric = self.lane.partition("@")
        return ProfileKey("local", stack, fabric, "", "npb", self.benchmark, "", self.ranks, 1, self.profiler)

    def _run(self, seconds: float) -> RunParts:
        return RunParts(tuple(self._rank(rank, seconds) for rank in range(self.ranks)))

    def _rank(self, rank: int, seconds: float) -> RankParts:
        parts = {name: seconds * self.shares.get(name, 0.0) for name in PARTS}
        more = self.skew * parts["computation"] * (2 * rank / (self.ranks - 1) - 1 if self.ranks > 1 else 0.0)
        communication = Parts(**{**parts, "computation": 0.0, "waiting": parts["waiting"] - more})
        calls = {call: communication / (1 / share) for call, share in CALLS.items()}
        return RankParts(rank, parts["computation"] + more, calls)

    def _efficiencies(self, blocks: tuple[BlockAttribution, ...]) -> dict[str, Interval]:
        values: dict[str, list[float]] = {name: [] for name in ("load_balance", "communication_efficiency")}
        for block in blocks:
            computations = [rank.computation for rank in block.run.ranks]
            values["load_balance"].append(sum(computations) / len(computations) / max(computations))
            values["communication_efficiency"].append(max(computations) / block.run.time)
        balance, communication = values["load_balance"], values["communication_efficiency"]
        values["parallel_efficiency"] = [b * c for b, c in zip(balance, communication, strict=True)]
        values["serialisation_efficiency"] = [0.9 for _ in blocks]
        values["transfer_efficiency"] = [c / 0.9 for c in communication]
        return {name: _interval(of) for name, of in values.items()}


def _interval(values: list[float]) -> Interval:
    return median_interval(values, 0.95)


def attributions_of(*runs: Attributed, refused: Mapping[str, str] | None = None) -> Attributions:
    """The attributions of a campaign. ``refused``: by lane, the reason why the profile of ``is.B`` is not used."""
    reasons = (Refusal(Attributed(lane).attribution.key, reason) for lane, reason in (refused or {}).items())
    return Attributions(tuple(one.attribution for one in runs), tuple(reasons), {}, {})
