# SPDX-License-Identifier: Apache-2.0
"""The record of a launch: what is derived from the files in its directory."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from fabricbench.launch.facts import Expected, Launch, Skipped
from fabricbench.site.lane import LaneNamed
from fabricbench.site.transports import Binding

State = Literal["ok", "failed", "refuted", "unknown", "unreadable", "unfinished", "lost"]
LOST_STATES: tuple[State, ...] = ("unfinished", "lost")
"""States of launches that say nothing of their lane: they may be repeated within their block."""
AttestationState = Literal["attested", "refuted", "unknown"]
AttestationBasis = Literal["launch", "marks", "lines"]
Ports = dict[str, dict[str, dict[str, int]]]
"""What moved on the ports of the nodes, by node, port and counter (``tx_bytes``, …): ``launch.counters``."""


class Derived(BaseModel):
    """Base of everything computed from facts."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Row(Derived):
    """One value: ``metric`` names the unit (``metrics``); ``msg_size_bytes`` is None where there is no size."""

    benchmark: str
    case: str
    metric: str
    msg_size_bytes: int | None
    value: float


class SkippedRow(Derived):
    """One size of one case that the launch could not measure, as its program says; the others stand."""

    benchmark: str
    case: str
    msg_size_bytes: int | None
    reason: str


class Payload(Derived):
    """What the benchmark itself moved between ranks: the least that any algorithm must move."""

    bytes: int
    messages: int


class PayloadPart(Derived):
    """The least that one part of a launch, one size of one case, moved between ranks.

    ``label`` is the name under which the program marked the part for the witness, ``line`` the line that it printed
    after it, blanks folded; empty where there is none. ``barriers`` are those in the marked interval beside the
    payload, ``ranks`` those among which the payload moves, None for all.
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
        """Whether the part has anything to carry."""
        return bool(self.payload.bytes or self.payload.messages)

    @property
    def name(self) -> str:
        """The part in words: ``pingpong at 8 B``."""
        size = "" if self.msg_size_bytes is None else f" at {self.msg_size_bytes} B"
        return " ".join(part for part in (self.benchmark, self.case) if part) + size


class PartEvidence(Derived):
    """The attestation of one part by what sockets carried during its interval (``attestation.sizes``).

    ``bytes`` and ``segments`` are without those of the interval's own synchronisation: by marks sent by all ranks, by
    lines sent and received by rank 0. ``share`` is the one of the shares of the payload's bytes and messages that
    decides, ``required`` the share that attests the part: 1 less the uncertainty at the interval's borders. Both are
    None where nothing decides, and on lanes whose payload passes no socket.
    """

    part: PayloadPart
    bytes: int
    segments: int
    share: float | None = None
    required: float | None = None
    state: AttestationState
    reason: str = ""


class Traffic(Derived):
    """What the witness saw on TCP between the ranks: for each connection the larger of its two ends.

    ``bytes`` and ``segments`` count both directions, ``bytes_between`` those of ``bytes`` that left their node;
    ``bytes_elsewhere`` went to addresses that no rank's node has, and count in none of the others;
    ``by_peer`` is bytes by the nodes' addresses;
    ``reports`` is how many ranks reported; ``udp_sockets`` and ``unix_sockets`` are how many they had open, what went
    through them is not counted.
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
    """Whether the lane's transport carried the bytes, with the evidence and each rule's outcome in words.

    ``share`` of the payload is that on sockets, or on the fabric's ``ports`` where their counters attest a transport.
    ``by`` says what the state rests on: the launch as a whole, or each of its ``parts``, told apart by marks or by
    printed lines. ``could_hide`` are the parts any one of which could have bypassed the transport unnoticed.
    """

    state: AttestationState
    reason: str
    traffic: Traffic | None = None
    payload: Payload | None = None
    wireup_bytes: int | None = None
    wireup_segments: int | None = None
    share: float | None = None
    ports: Ports = {}
    by: AttestationBasis = "launch"
    parts: tuple[PartEvidence, ...] = ()
    could_hide: tuple[PayloadPart, ...] = ()


class RankBinding(Derived):
    """The processors that a rank could run on, ``0-3,8``, as it saw them."""

    host: str
    rank: int
    cpus: str


class Bound(Derived):
    """What ranks were to be bound to, and where they could run; which port was asked for (empty: none), and which ports
    carried the bytes. ``problem`` says how what was seen differs from what was asked.

    ``carried`` is by port of the fabric its share of what they carried all together, sent and received, on all nodes;
    empty where nobody can tell.
    """

    asked: Binding = "none"
    port: str = ""
    problem: str = ""
    ranks: tuple[RankBinding, ...] = ()
    carried: dict[str, float] = {}


class Record(Derived):
    """One launch, collected. ``directory`` is relative to the campaign; ``launch`` is None where unreadable."""

    schema_version: Literal[1] = 1
    directory: str
    launch: Launch | None
    state: State
    reason: str = ""
    begin: float | None = None
    seconds: float | None = None
    hosts: tuple[str, ...] = ()
    foreign_cpu_share: float | None = None
    binding: Bound = Bound()
    attestation: Attestation | None = None
    rows: tuple[Row, ...] = ()
    skips: tuple[SkippedRow, ...] = ()


class Unmeasured(LaneNamed, Derived):
    """Rows that a campaign planned and did not measure, with the reason and the hint.

    ``rows`` have their cases; None where it is not known which rows they would have been. ``tool`` is empty where that
    is not known either. ``applies`` as in ``Skipped``. ``damaged``: nothing was skipped; its launch cannot be read, or
    the campaign has no trace of it.
    """

    system: str
    fabric: str
    stack: str
    variant: str = ""
    tool: str
    benchmark: str
    rows: tuple[Expected, ...] | None
    ranks: int | None = None
    nodes: int | None = None
    reason: str
    hint: str = ""
    applies: bool = True
    damaged: bool = False


class Campaign(Derived):
    """A campaign as read: its facts, the records in order of block and position, the named skips, and what else was
    planned and not measured."""

    name: str
    facts: "CampaignFacts"
    records: tuple[Record, ...]
    skips: tuple[Skipped, ...]
    unmeasured: tuple[Unmeasured, ...] = ()


class CampaignFacts(Derived):
    """``campaign.json``: what was decided when the campaign was made. ``looks`` are the block counts at which
    verdicts may be drawn; ``alpha`` is spent over them;
    ``lanes`` and ``checks`` are those chosen, all where empty; ``variables`` those of checks that were set,
    ``MicroPingpong.port=eth1``."""

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
