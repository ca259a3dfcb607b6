# SPDX-License-Identifier: Apache-2.0
"""Records of timed and profiled launches with known times."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fabricbench.launch.facts import Expected, Launch
from fabricbench.launch.record import Agreement, Record, Row, State

CALLS = {"MPI_Sendrecv": (0.5, 3000, 96000), "MPI_Allreduce": (0.25, 500, 4000)}
"""By function: seconds, calls and bytes in a profiled time of one second."""


@dataclass(frozen=True, slots=True)
class Profiled:
    """The launches of one benchmark on one lane.

    ``timed``, ``profiled``: run times in seconds by block, None for a block without that launch. ``calls``: as
    ``CALLS``. ``agreements``: by block, of the profiled launch. ``states``: by block, if it is not ``ok``.
    """

    lane: str = "mpich@tcp"
    tool: str = "npb"
    benchmark: str = "cg.A"
    timed: Sequence[float | None] = (1.0,) * 6
    profiled: Sequence[float | None] = (1.02,) * 6
    calls: Mapping[str, tuple[float, int, int]] = field(default_factory=lambda: CALLS)
    agreements: Mapping[int, tuple[Agreement, ...]] = field(default_factory=dict)
    states: Mapping[int, State] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    ranks: int = 2

    @property
    def records(self) -> tuple[Record, ...]:
        """The records of all launches."""
        return tuple(self._all())

    def directory(self, block: int, mode: str = "profiled") -> str:
        """The directory of a launch."""
        return f"b{block:03d}.s00/{self.lane}/{self.benchmark}-{mode}-{self.versions.get('tau', 'own')}"

    def _all(self) -> Iterator[Record]:
        for block, seconds in enumerate(self.timed):
            if seconds is not None:
                yield self._record(block, "timed", (self._row("run_time", seconds),))
        for block, seconds in enumerate(self.profiled):
            if seconds is not None:
                yield self._record(block, "profiled", tuple(self._rows(seconds)))

    def _rows(self, seconds: float) -> Iterator[Row]:
        share = sum(time for time, _, _ in self.calls.values())
        yield self._row("run_time", seconds)
        yield self._row("mpi_share", share)
        yield self._row("mpi_share_min", share - 0.1)
        yield self._row("mpi_share_max", share + 0.1)
        yield self._row("profiled_time", seconds)
        for call, (time, count, size) in self.calls.items():
            case = f"call={call}"
            yield self._row("mpi_calls", count, case)
            yield self._row("mpi_time", time * seconds, case)
            yield self._row("mpi_time_max", 1.2 * time * seconds, case)
            if size:
                yield self._row("mpi_bytes", size, case)
                yield self._row("mpi_calls_by_size", count, case, 1 << (size // count).bit_length() >> 1)

    def _row(self, metric: str, value: float, case: str = "", size: int | None = None) -> Row:
        return Row(benchmark=self.benchmark, case=case, metric=metric, msg_size_bytes=size, value=value)

    def _record(self, block: int, mode: Literal["timed", "profiled"], rows: tuple[Row, ...]) -> Record:
        stack, _, fabric = self.lane.partition("@")
        launch = Launch(
            id=f"b{block:03d} {self.lane} {self.tool} {self.benchmark} {mode}", block=block, position=0,
            system="local", fabric=fabric, transport="tcp", stack=stack, variant="", tool=self.tool,
            benchmark=self.benchmark, messages=None, ranks=self.ranks, nodes=1, mode=mode, argv=("mpiexec",),
            expected=(Expected(benchmark=self.benchmark, metric="mpi_share"),) if mode == "profiled" else (),
            environment={}, versions=dict(self.versions), limit_seconds=60,
            profiler=None if mode == "timed" else "tau" if "tau" in self.versions else "own",
        )  # fmt: skip
        is_profiled = mode == "profiled"
        return Record(
            directory=self.directory(block, mode),
            launch=launch,
            state=self.states.get(block, "ok") if is_profiled else "ok",
            reason="only 3 % on TCP" if is_profiled and block in self.states else "",
            hosts=("one",),
            rows=() if is_profiled and self.states.get(block) == "unreadable" else rows,
            agreements=self.agreements.get(block, ()) if is_profiled else (),
        )


def timers(other: float, profile: float = 0.75, margin: float = 0.02) -> Agreement:
    """The comparison of the time in MPI with a timer of the application."""
    return Agreement(
        witness="timers", what="communication_time: all calls of MPI", profile=profile, other=other,
        least=profile - margin, most=profile + margin, unit="s",
    )  # fmt: skip


def sockets(other: float) -> Agreement:
    """The comparison of 100 000 bytes of calls with the bytes on the sockets."""
    return Agreement(
        witness="sockets", what="bytes between the ranks", profile=1e5, other=other, least=9e4, most=1.2e5, unit="B"
    )
