# SPDX-License-Identifier: Apache-2.0
"""The record of a launch, which is computed from the files in its directory."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from fabricbench.launch.facts import Block, Launch, Seconds, Skip, SkippedLaunch
from fabricbench.site.transports import Binding

State = Literal["ok", "failed", "refuted", "unknown", "unreadable", "unfinished", "lost"]
LOST_STATES: tuple[State, ...] = ("unfinished", "lost")
"""States of launches that give no information about their lane; they may be repeated within their block."""
AttestationState = Literal["attested", "refuted", "unknown"]
AttestationBasis = Literal["launch", "marks", "lines"]
Ports = dict[str, dict[str, dict[str, int]]]
"""The traffic on the nodes' ports, by node, port and counter (``tx_bytes``, …): ``launch.counters``."""


class Derived(BaseModel):
    """Base of the models that are computed from a campaign's files."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Row(Derived):
    """One value in the unit of its ``metric`` (``metrics``); ``msg_size_bytes`` is None if it has no size."""

    benchmark: str
    case: str
    metric: str
    msg_size_bytes: int | None
    value: float


class SkippedSize(Derived):
    """One size of one case that a launch skipped, with the program's reason; the other sizes remain valid."""

    benchmark: str
    case: str
    msg_size_bytes: int | None
    reason: str


class Payload(Derived):
    """The traffic of the benchmark between its ranks: the least that any algorithm must move."""

    bytes: int
    messages: int


class PayloadPart(Derived):
    """The payload of one part of a launch, which is one size of one case.

    ``label``: the program's mark for the witness; empty without marks. ``line``: the line that the program prints after
    the part, with single blanks; empty if there is none. ``barriers``: barriers in the marked interval in addition to
    the payload. ``ranks``: the number of ranks that exchange the payload; None for all.
    """

    label: str = ""
    line: str = ""
    barriers: int = 0
    ranks: int | None = None
    benchmark: str
    case: str
    msg_size_bytes: int | None
    payload: Payload

    @property
    def moves(self) -> bool:
        """Whether the part moves bytes or messages."""
        return bool(self.payload.bytes or self.payload.messages)

    @property
    def name(self) -> str:
        """The part as text: ``pingpong at 8 B``."""
        size = "" if self.msg_size_bytes is None else f" at {self.msg_size_bytes} B"
        return " ".join(part for part in (self.benchmark, self.case) if part) + size


class PartEvidence(Derived):
    """The attestation of one part by the sockets' traffic during its interval (``attestation.sizes``).

    ``bytes`` and ``segments`` exclude the synchronisation of the interval. With marks they are sent by all ranks, with
    lines sent and received by rank 0. ``share``: the share of the payload, of bytes or of messages, that decides.
    ``required``: the share that attests the part, which is 1 less the uncertainty of the interval. Both are None if
    neither count decides, and on lanes whose payload must not use sockets.
    """

    part: PayloadPart
    bytes: int
    segments: int
    share: float | None = None
    required: float | None = None
    state: AttestationState
    reason: str = ""


class Traffic(Derived):
    """The traffic between the ranks on TCP, as the witness counted it.

    For each connection the larger count of its two ends applies. ``bytes`` and ``segments``: both directions.
    ``bytes_between``: those of ``bytes`` that left their node. ``bytes_elsewhere``: bytes to addresses outside the
    ranks' nodes, which no other field includes. ``by_peer``: bytes by the nodes' addresses. ``reports``: the number of
    ranks that reported. ``udp_sockets``, ``unix_sockets``: numbers of open sockets, whose traffic is not counted.
    """

    reports: int
    connections: int
    bytes: int
    segments: int
    bytes_between: int = 0
    bytes_elsewhere: int = 0
    by_peer: dict[str, int]
    devices: tuple[str, ...]
    libraries: tuple[str, ...]
    shared_maps: int
    dropped: int
    udp_sockets: int = 0
    unix_sockets: int = 0


class Attestation(Derived):
    """Whether the lane's transport carried the bytes, with the evidence.

    ``share``: the share of the payload on sockets, or on the fabric's ``ports`` if their counters attest the transport.
    ``basis``: whether the state rests on the launch as a whole, or on each of its ``parts``, which marks or printed
    lines separate. ``could_bypass``: parts any one of which could have bypassed the transport without being detected.
    """

    state: AttestationState
    reason: str
    traffic: Traffic | None = None
    payload: Payload | None = None
    wireup_bytes: int | None = None
    wireup_segments: int | None = None
    share: float | None = None
    ports: Ports = {}
    basis: AttestationBasis = "launch"
    parts: tuple[PartEvidence, ...] = ()
    could_bypass: tuple[PayloadPart, ...] = ()


class RankBinding(Derived):
    """The processors on which a rank could run, in the kernel's notation ``0-3,8``."""

    host: str
    rank: int
    cpus: str


class NodeBinding(Derived):
    """The ranks of a node that could run on the same processors. Both lists are in the kernel's notation ``0-3,8``."""

    host: str
    ranks: str
    cpus: str


class BindingCheck(Derived):
    """The requested CPU binding and port, the observed ones, and the ``problem`` if they differ.

    ``ranks``: the processors of each rank; of launches of many ranks, ``nodes`` has those of all ranks of a node.
    ``port``: the requested port, or empty. ``port_shares``: by port of the fabric, its share of the traffic on all of
    them, sent and received on all nodes; empty if counters are missing.
    """

    requested: Binding = "none"
    port: str = ""
    problem: str = ""
    ranks: tuple[RankBinding, ...] = ()
    nodes: tuple[NodeBinding, ...] = ()
    port_shares: dict[str, float] = {}


class Agreement(Derived):
    """The comparison of a profile with another witness of the same launch.

    ``witness``: the application's own timers, the bytes on the sockets, or the functions that the program imports.
    ``profile``: what the profile says, ``other``: what the witness says, in ``unit``; they agree if ``other`` lies
    between ``least`` and ``most``.
    """

    witness: Literal["timers", "sockets", "imports"]
    what: str
    profile: float
    other: float
    least: float
    most: float
    unit: str
    reason: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the witness confirms the profile."""
        return self.least <= self.other <= self.most


class Record(Derived):
    """The record of one launch. ``directory`` is relative to the campaign; ``launch`` is None if it cannot be read.

    ``agreements``: the comparisons of the profile with other witnesses, of a profiled launch.
    """

    schema_version: Literal[1] = 1
    directory: str
    launch: Launch | None
    state: State
    reason: str = ""
    begin: float | None = None
    seconds: float | None = None
    hosts: tuple[str, ...] = ()
    foreign_cpu_share: float | None = None
    binding: BindingCheck = BindingCheck()
    attestation: Attestation | None = None
    rows: tuple[Row, ...] = ()
    skips: tuple[SkippedSize, ...] = ()
    agreements: tuple[Agreement, ...] = ()


class Unmeasured(Skip):
    """Rows that a campaign planned and did not measure, once for all blocks.

    ``damaged`` is True if nothing was skipped: the launch cannot be read, or the campaign has no trace of it.
    """

    damaged: bool = False


class RemovedNode(Derived):
    """A node that the campaign does not use from ``block`` on, with the reason that the user gave.

    ``time``: when it was taken out, in seconds since 1970.
    """

    node: str
    because: str
    block: Block
    time: Seconds

    @property
    def note(self) -> str:
        """The removal as text, for every verdict: ``without n3 since block 4: ECC errors``."""
        return f"without {self.node} since block {self.block}: {self.because}"


class RemovedNodes(Derived):
    """``removed-nodes.json``: the nodes that were taken out of the campaign, in order of time."""

    schema_version: Literal[1] = 1
    removed: tuple[RemovedNode, ...] = ()


class Campaign(Derived):
    """A campaign: its facts, its records in order of block and position, and what it did not measure.

    ``skips``: the skipped launches and sizes. ``unmeasured``: all planned rows without a value, skipped or not.
    ``removed``: the nodes that were taken out of it.
    """

    name: str
    facts: "CampaignFacts"
    records: tuple[Record, ...]
    skips: tuple[SkippedLaunch, ...]
    unmeasured: tuple[Unmeasured, ...] = ()
    removed: tuple[RemovedNode, ...] = ()


class CampaignFacts(Derived):
    """``campaign.json``: what was decided when the campaign was created.

    ``looks``: the numbers of blocks after which verdicts may be drawn. ``alpha``: the total error of these looks.
    ``lanes``, ``checks``: the selected ones; empty for all. ``variables``: variables of checks,
    ``MicroPingpong.port=eth1``. ``injected``: levels of injected delays, ``latency=5us``. ``scales``: the scales that
    replace those of the tier, ``4x8``.
    """

    schema_version: Literal[1] = 1
    system: str
    tier: Literal["single", "quick", "standard", "acceptance"]
    looks: Annotated[tuple[Annotated[int, Field(ge=1, le=100)], ...], Field(max_length=8)]
    alpha: float = Field(default=0.05, gt=0, le=0.5)
    seed: int
    created: float
    version: str = ""
    lanes: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    injected: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
