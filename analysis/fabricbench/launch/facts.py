# SPDX-License-Identifier: Apache-2.0
"""The files of a launch directory: ``launch.json``, written before the start; ``begin`` and ``end``, written by the
launch wrapper.
"""

import os
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, model_validator

from fabricbench.metrics import METRICS
from fabricbench.site.cases import ADDED, completed_case
from fabricbench.site.lane import LaneNamed
from fabricbench.site.profilers import ProfilerName
from fabricbench.site.targets import Target
from fabricbench.site.transports import Binding, Distance, Placement, Transport

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
"""Prefixes of the environment variables that change the behaviour of an MPI stack."""

CANNOT_START = (126, 127)
"""Exit statuses of a command that was not found or cannot be executed."""

Mode = Literal["timed", "profiled", "injected", "checked", "wireup"]
Scalar = str | int | float | bool
Block = Annotated[int, Field(ge=0, lt=2**30)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
"""A count that fits a column of the table."""
Seconds = Annotated[float, Field(strict=True, ge=0)]
Delay = Annotated[float, Field(strict=True, ge=0, lt=1e6)]


def _declared(metric: str) -> str:
    if metric not in METRICS:
        raise ValueError(f"no metric is called '{metric[:40]}'")
    return metric


class FileModel(BaseModel):
    """Base of the models of files that this program writes: refuses unknown keys; instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Expected(FileModel):
    """Rows that a launch must yield: one per size, or a single one if ``msg_sizes_bytes`` is None.

    ``case`` is written as in the table, ``k=v k=v``. None stands for the launch's own case.
    """

    benchmark: str
    case: str | None = None
    metric: Annotated[str, AfterValidator(_declared)]
    msg_sizes_bytes: Annotated[tuple[Count, ...], Field(max_length=4096)] | None = None


class WireUp(FileModel):
    """The sockets' traffic of ``ranks`` ranks in a launch of Init and Finalize alone, on the same lane.

    For a user-level library: the traffic of its program with the smallest workload, started ``runs`` times. ``devices``
    are the device files of the transport that the stack always opens; None if they were not recorded.
    """

    launch: str
    ranks: int = Field(default=2, gt=0, lt=2**31)
    runs: int = Field(default=1, gt=0, lt=2**31)
    bytes: Count
    segments: Count
    udp_sockets: Count = 0
    unix_sockets: Count | None = None
    devices: tuple[str, ...] | None = None


class Injection(FileModel):
    """The delays of a launch: per received message, per received byte, and of the processor per message."""

    latency_us: Delay = 0.0
    per_byte_ns: Delay = 0.0
    overhead_us: Delay = 0.0


class OmittedSizes(FileModel):
    """Sizes that the check excluded from the launch, with the reason."""

    msg_sizes_bytes: tuple[Count, ...]
    reason: str


class _OfTool(FileModel):
    """Base of launches and skips: completes the cases of earlier versions (``site.cases``) when they are read."""

    @model_validator(mode="before")
    @classmethod
    def complete_cases(cls, data: object) -> object:
        """Returns the fields with the completed cases of the launch and of its expected rows."""
        if not isinstance(data, dict) or not isinstance(tool := data.get("tool"), str) or tool not in ADDED:
            return data
        data = dict(data)
        if "case" in cls.model_fields and isinstance(case := data.get("case", {}), Mapping):
            data["case"] = {**ADDED[tool], **case}
        if isinstance(expected := data.get("expected"), list | tuple):
            data["expected"] = [_completed(tool, item) for item in expected]
        return data


def _completed(tool: str, expected: object) -> object:
    """Returns an expected row, or its fields, with the completed case."""
    if isinstance(expected, Expected) and expected.case is not None:
        return expected.model_copy(update={"case": completed_case(tool, expected.case)})
    if isinstance(expected, dict) and isinstance(case := expected.get("case"), str):
        return {**expected, "case": completed_case(tool, case)}
    return expected


class Launch(LaneNamed, _OfTool):
    """``launch.json``: everything that was decided before the start.

    ``runs``: the number of program starts. ``ports``: the fabric's ports on every node. ``port``: the requested one of
    them, or empty. ``profiler``: the one that is loaded into the ranks in mode ``profiled``. ``injected``: the delays
    of a launch of mode ``injected``. ``exclusive``: whether the launch had the nodes to itself. ``spec_hash``: Spack's
    hashes of the stack and of the program's package, by package; None if Spack built neither. ``stack_prefix``: the
    prefix of an MPI library that the user named, empty for the others; ``modules``: the modules that the job loaded for
    it. ``target``: what the
    program was built for; None if that is unknown, or the compiler's default. ``function_only``: the reason why
    times on the fabric are no measurements; empty if they are. ``placement``: the order of the ranks over the nodes;
    None for the launcher's default. ``node_pool``: the nodes from which those of the launch were chosen, in Slurm's
    short form; ``nodelist``: the chosen ones; ``node_rule``: the rule that chose them. They are empty if the scheduler
    chose. ``distance``: the requested distance of the nodes; ``switches``: then the switch of each node of
    ``nodelist``. ``wireup_problem``: why the lane has no measured wire-up. ``reduces_in_network``: whether switches of
    the fabric combine and copy the data of collectives.
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
    placement: Placement | None = None
    distance: Distance | None = None
    switches: tuple[str, ...] = ()
    node_pool: str = ""
    nodelist: tuple[str, ...] = ()
    node_rule: str = ""
    ports: tuple[str, ...] = ()
    port: str = ""
    exclusive: bool = True
    reduces_in_network: bool = False
    runs: int = Field(default=1, gt=0, lt=2**31)
    mode: Mode = "timed"
    profiler: ProfilerName | None = None
    injected: Injection | None = None
    argv: tuple[str, ...]
    environment: dict[str, str] = {}
    versions: dict[str, str] = {}
    spec_hash: dict[str, str] | None = None
    stack_prefix: str = ""
    modules: tuple[str, ...] = ()
    target: Target | None = None
    limit_seconds: float
    attestation: Literal["required", "optional"] = "required"
    function_only: str = ""
    wireup: WireUp | None = None
    wireup_problem: str = ""
    expected: tuple[Expected, ...] = ()
    left_out: OmittedSizes | None = None


class Skip(LaneNamed, _OfTool):
    """Rows of a benchmark on a lane that could not be measured, with the reason and a hint.

    ``expected`` holds the rows that the launch would have yielded, each with its case; None if they are unknown, as in
    campaigns of earlier versions. ``tool`` is empty if it is unknown too. ``applies`` is False if the fabric cannot
    have such a measurement at all, for example striping over ports on a fabric with one port.
    """

    system: str
    fabric: str
    stack: str
    variant: str = ""
    tool: str
    benchmark: str
    ranks: int | None = Field(default=None, gt=0, lt=2**31)
    nodes: int | None = Field(default=None, gt=0, lt=2**31)
    expected: tuple[Expected, ...] | None = None
    applies: bool = True
    reason: str
    hint: str = Field(default="", validation_alias=AliasChoices("hint", "cure"))


class SkippedLaunch(Skip):
    """``skipped.json``, which a check writes in place of ``launch.json`` if it cannot start the launch.

    Version 1 of the file had the name ``gap.json`` and called the ``hint`` ``cure``.
    """

    schema_version: Literal[1, 2] = 2
    id: str
    block: Block
    messages: Literal["small", "large"] | None = None


class Begin(BaseModel):
    """``begin``: the launch wrapper started the command; with the data that identify its processes."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)
    time: Seconds
    host: str
    pid: int = Field(gt=0, lt=2**31)
    pgid: int = Field(gt=0, lt=2**31)
    boot_id: str
    starttime: int = Field(ge=0, lt=2**64)


class End(BaseModel):
    """``end``: the command ended. A launch without this file is unfinished."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)
    time: Seconds
    seconds: Seconds
    status: int | None
    signal: int | None
    timed_out: bool
    leftovers: Count
    cpu_seconds: Seconds


def inherited_variables() -> dict[str, str]:
    """Returns the variables of the current environment that change MPI stacks, as a shell or a module set them."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(MPI_VARIABLES)}


def canonical_case(case: Mapping[str, Scalar]) -> str:
    """Returns a case as text, ``k=v k=v`` in the order of the keys. A new parameter adds no column to the table."""
    return " ".join(f"{key}={_plain(case[key])}" for key in sorted(case))


def case_parts(case: str) -> dict[str, str]:
    """Returns the keys and values of a case; words without ``=`` are ignored."""
    return dict(part.split("=", 1) for part in case.split() if "=" in part)


def joined_case(launch: Mapping[str, Scalar], program: str) -> str:
    """Returns the case of a row: the parameters of the check and those of the program, as ``k=v k=v``."""
    return " ".join(sorted({*canonical_case(launch).split(), *program.split()}))


def _plain(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
