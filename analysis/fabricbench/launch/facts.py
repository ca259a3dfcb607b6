# SPDX-License-Identifier: Apache-2.0
"""The facts of a launch directory: ``launch.json`` before the start, ``begin`` and ``end`` by the launch wrapper."""

import os
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from fabricbench.metrics import METRICS
from fabricbench.site.lane import LaneNamed
from fabricbench.site.transports import Binding, Transport

SCHEMA: Literal[1] = 1
MPI_VARIABLES = (
    "CXI_",
    "FI_",
    "GMX_",
    "HFI_",
    "I_MPI_",
    "LD_LIBRARY_PATH",
    "MLX4_",
    "MLX5_",
    "MPICH_",
    "MPIR_",
    "MV2_",
    "MVP_",
    "OMPI_",
    "OMP_",
    "OMX_",
    "PALS_CPU_BIND",
    "PMIX_",
    "PRTE_",
    "PSM",
    "SLURM_CPU_BIND",
    "SLURM_DISTRIBUTION",
    "SLURM_MPI_TYPE",
    "UCX_",
)
"""How the names of variables begin that change what a stack does."""

Mode = Literal["timed", "profiled", "injected", "checked", "wireup"]
Scalar = str | int | float | bool
Block = Annotated[int, Field(ge=0, lt=2**30)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
"""What fits a column of the table."""
Seconds = Annotated[float, Field(strict=True, ge=0)]


def _declared(metric: str) -> str:
    if metric not in METRICS:
        raise ValueError(f"no metric is called '{metric[:40]}'")
    return metric


class Facts(BaseModel):
    """Base of everything read from a launch directory: unknown keys are refused, nothing changes afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Expected(Facts):
    """Rows that a launch must yield: one per size, or a single one where ``msg_sizes_bytes`` is None.

    ``case`` is as in the table, ``k=v k=v``; None stands for the launch's own, where a launch has one case only.
    """

    benchmark: str
    case: str | None = None
    metric: Annotated[str, AfterValidator(_declared)]
    msg_sizes_bytes: Annotated[tuple[Count, ...], Field(max_length=4096)] | None = None


class WireUp(Facts):
    """What the sockets of ``ranks`` ranks carry in a launch of Init and Finalize alone, on the same lane.

    Of a user-level library: what two processes carry that only meet, ``runs`` times. ``devices`` are the transport
    device files that the stack opens in any case; None where that was not recorded.
    """

    launch: str
    ranks: int = Field(default=2, gt=0, lt=2**31)
    runs: int = Field(default=1, gt=0, lt=2**31)
    bytes: Count
    segments: Count
    udp_sockets: Count = 0
    unix_sockets: Count | None = None
    devices: tuple[str, ...] | None = None


class LeftOut(Facts):
    """Sizes that the launch was not to measure, and why."""

    msg_sizes_bytes: tuple[Count, ...]
    reason: str


class Launch(LaneNamed, Facts):
    """``launch.json``: everything that was decided before the start. ``runs`` is how often its programs are started.

    ``ports`` are the fabric's on every node, ``port`` the one of them that was asked for, empty where none was;
    ``exclusive`` says that the nodes were the launch's alone.
    ``spec_hash``: Spack's hashes of the stack and of the package that the program is from, by package; None where Spack
    built neither.
    """

    schema_version: Literal[1] = SCHEMA
    id: str
    block: Block
    position: Count
    system: str
    fabric: str
    transport: Transport
    stack: str
    variant: str = ""
    tool: str
    benchmark: str
    messages: Literal["small", "large"] | None = None
    case: dict[str, Scalar] = {}
    ranks: int = Field(gt=0, lt=2**31)
    nodes: int = Field(gt=0, lt=2**31)
    binding: Binding = "none"
    ports: tuple[str, ...] = ()
    port: str = ""
    exclusive: bool = True
    runs: int = Field(default=1, gt=0, lt=2**31)
    mode: Mode = "timed"
    argv: tuple[str, ...]
    environment: dict[str, str] = {}
    versions: dict[str, str] = {}
    spec_hash: dict[str, str] | None = None
    limit_seconds: float
    attestation: Literal["required", "optional"] = "required"
    wireup: WireUp | None = None
    expected: tuple[Expected, ...] = ()
    left_out: LeftOut | None = None


class Skipped(LaneNamed, Facts):
    """``skipped.json`` in place of ``launch.json``: what could not be measured here, why, and the hint.

    ``expected`` are the rows that the launch would have yielded, each with its case; None in campaigns that were
    recorded before skips had rows. ``applies`` is False where the fabric has nothing of the kind to measure, as a
    single port has nothing to stripe over. Version 1 of the file was called ``gap.json``, its ``hint`` ``cure``.
    """

    schema_version: Literal[1, 2] = 2
    id: str
    block: Block
    system: str
    fabric: str
    stack: str
    variant: str = ""
    tool: str
    benchmark: str
    messages: Literal["small", "large"] | None = None
    ranks: int | None = Field(default=None, gt=0, lt=2**31)
    nodes: int | None = Field(default=None, gt=0, lt=2**31)
    expected: tuple[Expected, ...] | None = None
    applies: bool = True
    reason: str
    hint: str = Field(default="", validation_alias=AliasChoices("hint", "cure"))


class Begin(BaseModel):
    """``begin``: the wrapper's word that the command was started, with what is needed to find its processes."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)
    time: Seconds
    host: str
    pid: int = Field(gt=0, lt=2**31)
    pgid: int = Field(gt=0, lt=2**31)
    boot_id: str
    starttime: int = Field(ge=0, lt=2**64)


class End(BaseModel):
    """``end``: the wrapper's word that the command came back. Without it the launch is unfinished."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)
    time: Seconds
    seconds: Seconds
    status: int | None
    signal: int | None
    timed_out: bool
    leftovers: Count
    cpu_seconds: Seconds


def inherited_variables() -> dict[str, str]:
    """Variables of the environment that MPI stacks listen to: what a user's shell or a module had set."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(MPI_VARIABLES)}


def canonical_case(case: Mapping[str, Scalar]) -> str:
    """``k=v k=v`` with keys in order: a new parameter never adds a column to the table."""
    return " ".join(f"{key}={_plain(case[key])}" for key in sorted(case))


def case_parts(case: str) -> dict[str, str]:
    """The keys and values of a case as the table writes it; what is no ``k=v`` is left out."""
    return dict(part.split("=", 1) for part in case.split() if "=" in part)


def joined_case(launch: Mapping[str, Scalar], program: str) -> str:
    """The case of a row: the launch's, which the check chose, and the program's own, ``k=v k=v``, together."""
    return " ".join(sorted({*canonical_case(launch).split(), *program.split()}))


def _plain(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
