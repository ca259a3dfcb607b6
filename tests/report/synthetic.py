# SPDX-License-Identifier: Apache-2.0
"""Makes a campaign from a fixed seed: lanes that differ by known factors, with faults on request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fabricbench.launch.facts import Launch, SkippedLaunch, WireUp
from fabricbench.launch.record import Attestation, Campaign, CampaignFacts, Payload, Record, Row, State, Traffic
from fabricbench.site.transports import Transport

Messages = Literal["small", "large"]

SMALL = (0, *(2**k for k in range(13)))
LARGE = tuple(2**k for k in range(13, 23))
FABRICS: dict[str, Transport] = {"shm": "shm", "tcp": "tcp"}
STACKS = {"impi": 1.0, "mpich": 1.25, "openmpi": 0.93}
COLLECTIVES = {
    "allgather": 2.4, "allreduce": 2.2, "alltoall": 3.0, "bcast": 1.4, "exchange": 1.9, "sendrecv": 1.1,
}  # fmt: skip
TAIL = "[node17:4711] *** An error in MPI_Allreduce\n[node17:4711] *** MPI_ERR_TRUNCATE: message truncated"


@dataclass(frozen=True, slots=True)
class Shape:
    """Size, lanes, tools and faults of a synthetic campaign."""

    blocks: int = 6
    lanes: tuple[tuple[str, str, str], ...] = tuple((s, f, "") for f in FABRICS for s in STACKS)
    collectives: tuple[str, ...] = tuple(COLLECTIVES)
    tools: tuple[str, ...] = ("micro", "imb")
    repeats: int = 1
    faults: bool = True
    refuted: bool = False
    seed: int = 20240917
    name: str = "autumn acceptance"
    versions: dict[str, str] = field(default_factory=lambda: {"compiler": "gcc 12.2.0"})


def campaign(shape: Shape | None = None, skips: Sequence[SkippedLaunch] | None = None) -> Campaign:
    """A campaign of this shape; equal shapes give equal campaigns."""
    shape = shape or Shape()
    random = np.random.default_rng(shape.seed)
    records = [record for block in range(shape.blocks) for record in _block(shape, block, random)]
    facts = CampaignFacts(
        system="local", tier="standard", looks=(8, 15, 30), seed=shape.seed, created=1758103200.0,
        version="0.1.0",
    )  # fmt: skip
    return Campaign(
        name=shape.name, facts=facts, records=tuple(records), skips=tuple(SKIPS if skips is None else skips)
    )


def skip(lane: tuple[str, str, str], benchmark: str, reason: str, hint: str = "") -> SkippedLaunch:
    """A skip of a benchmark on a lane."""
    stack, fabric, variant = lane
    return SkippedLaunch(
        id=f"{stack}-{benchmark}", block=0, system="local", fabric=fabric, stack=stack, variant=variant,
        tool="osu", benchmark=benchmark, reason=reason, hint=hint,
    )  # fmt: skip


SKIPS = (
    skip(("mvapich2", "shm", ""), "latency", "mvapich2 is not installed", "spack install mvapich2@2.3.7-1"),
    skip(("mvapich2", "tcp", ""), "latency", "mvapich2 is not installed", "spack install mvapich2@2.3.7-1"),
    skip(("impi", "tcp", ""), "mbw_mr", "needs 4 ranks on each of 2 nodes, this system has 1 node"),
)


def _block(shape: Shape, block: int, random: np.random.Generator) -> Iterator[Record]:
    plan = [
        (lane, tool, benchmark, messages, repeat)
        for lane in shape.lanes
        for tool, benchmark in _benchmarks(shape)
        for messages in _messages(benchmark)
        for repeat in range(shape.repeats)
    ]
    for position, at in enumerate(random.permutation(len(plan))):
        lane, tool, benchmark, messages, repeat = plan[at]
        yield _record(shape, block, position, lane, tool, benchmark, messages, repeat, random)


def _messages(benchmark: str) -> tuple[Messages | None, ...]:
    return (None,) if benchmark == "barrier" else ("small", "large")


def _benchmarks(shape: Shape) -> Iterator[tuple[str, str]]:
    for tool in shape.tools:
        yield tool, "pingpong"
    if "imb" in shape.tools:
        yield from (("imb", name) for name in shape.collectives)
        yield "imb", "barrier"


def _record(
    shape: Shape, block: int, position: int, lane: tuple[str, str, str], tool: str, benchmark: str,
    messages: Messages | None, repeat: int, random: np.random.Generator,
) -> Record:  # fmt: skip
    stack, fabric, variant = lane
    slug = "-".join(part for part in (stack, fabric, variant, tool, benchmark, messages) if part)
    directory = f"b{block:03d}/{position:03d}-{slug}" + (f"-{repeat}" if repeat else "")
    sizes = {"small": SMALL, "large": LARGE, None: (None,)}[messages]
    rows = tuple(_rows(lane, tool, benchmark, sizes, random))
    launch = Launch(
        id=f"{block}-{position}-{slug}", block=block, position=position, system="local", fabric=fabric,
        transport=FABRICS.get(fabric, "tcp"), stack=stack, variant=variant, tool=tool, benchmark=benchmark,
        messages=messages, ranks=2, nodes=1,
        argv=("mpiexec", "-n", "2", f"/opt/{stack}/bin/{tool}", benchmark, "--sizes", "0:4 MiB"),
        environment={"OMP_NUM_THREADS": "1", "FABRIC": fabric, f"{stack.upper()}_NET": fabric},
        versions=shape.versions | {stack: f"4.1.{len(stack)}"}, limit_seconds=120,
        wireup=WireUp(launch="launches/wireup", bytes=18432, segments=96),
    )  # fmt: skip
    attestation = _attestation(launch, shape.refuted or (stack == "impi" and fabric == "tcp" and block == 1))
    state, reason = _state(shape, launch, attestation, random)
    return Record(
        directory=directory, launch=launch, state=state, reason=reason, begin=1758103200.0 + 60 * position,
        seconds=float(random.uniform(0.6, 2.4)), hosts=("node17",), attestation=attestation,
        foreign_cpu_share=float(random.beta(1.2, 30)),
        rows=rows if state in ("ok", "refuted", "unknown") else (),
    )  # fmt: skip


def _state(shape: Shape, launch: Launch, attestation: Attestation, random: np.random.Generator) -> tuple[State, str]:
    if shape.faults and random.random() < 0.01:
        result: tuple[tuple[State, str], ...] = (
            ("failed", TAIL), ("unreadable", "stdout:41: expected a row of 4 columns"),
            ("unfinished", "no end: killed"),
        )  # fmt: skip
        return result[launch.position % 3]
    if attestation.state != "attested":
        return attestation.state, attestation.reason
    return "ok", ""


def _attestation(launch: Launch, refuted: bool) -> Attestation:
    payload = Payload(bytes=192_000_000, messages=20_000)
    on_sockets = (launch.transport == "tcp") is not refuted
    traffic = Traffic(
        reports=2, connections=3 if on_sockets else 1, bytes=192_400_000 if on_sockets else 18_700,
        segments=20_310 if on_sockets else 99, by_peer={"127.0.0.1": 18_700}, devices=(), libraries=(),
        shared_maps=2, dropped=0,
    )  # fmt: skip
    share = 1.0021 if on_sockets else 0.000001
    reason = (
        f"only {share:.1%} of the payload was on TCP: sockets carried {traffic.bytes} bytes"
        if refuted
        else "as declared"
    )
    return Attestation(
        state="refuted" if refuted else "attested", reason=reason, traffic=traffic, payload=payload,
        wireup_bytes=18432, wireup_segments=96, share=share,
    )  # fmt: skip


def _rows(
    lane: tuple[str, str, str], tool: str, benchmark: str, sizes: Sequence[int | None],
    random: np.random.Generator,
) -> Iterator[Row]:  # fmt: skip
    noise = float(np.exp(random.normal(0, 0.015)))
    for size in sizes:
        time = _microseconds(lane, benchmark, size or 0) * noise * float(np.exp(random.normal(0, 0.008)))
        values = {"time": time, "time_max": time * 1.08}
        if benchmark == "pingpong":
            values = {"latency": time, "latency_mean": time * 1.03} if tool == "micro" else {"latency": time * 1.02}
            values |= {"bandwidth": size / time} if size else {}
        for metric, value in values.items():
            yield Row(benchmark=benchmark, case="", metric=metric, msg_size_bytes=size, value=round(value, 4))


def _microseconds(lane: tuple[str, str, str], benchmark: str, size: int) -> float:
    """The time of a message without noise: start-up, a step at 64 KiB, and bytes over a rate."""
    stack, fabric, variant = lane
    start, rate = (0.42, 9000.0) if fabric == "shm" else (11.5, 2600.0)
    factor = STACKS.get(stack, 1.1) * (0.8 if variant else 1.0)
    step = 0.0 if size < 65536 else start * 1.5
    return (start * factor + step + size / rate * (2 - factor)) * COLLECTIVES.get(benchmark, 1.0)
