# SPDX-License-Identifier: Apache-2.0
"""The section of attestations: for every lane the evidence, and the reasons against it."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Attestation, PayloadPart, Record
from fabricbench.report.formatting import amount, number, percent
from fabricbench.report.links import Launches, Link

_MESSAGES = ("small", "large", "")


@dataclass(frozen=True, slots=True)
class AttestedGroup:
    """The launches of one lane with small or with large messages. ``without``: launches without any evidence."""

    lane: str
    transport: str
    messages: str
    state: str
    attested: int
    refuted: int
    unknown: int
    without: int
    share: str
    bar: float
    bytes: str
    segments: str
    wireup: str


@dataclass(frozen=True, slots=True)
class AttestedBenchmark:
    """The evidence for one benchmark on one lane, over its launches.

    ``by``: how the evidence is assigned to message sizes; ``sizes``: the number of sizes with separate evidence in each
    launch; ``least``: the smallest share of the payload that the transport carried, and its size; ``could_bypass``: the
    sizes that could have bypassed the transport unnoticed in any of the launches.
    """

    lane: str
    benchmark: str
    by: str
    sizes: str
    least: str
    could_bypass: str
    launches: int


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason why launches are refuted or unknown, with links to these launches."""

    lane: str
    messages: str
    state: str
    reason: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class AttestationView:
    """The section of attestations. ``exclusion``: there are shm lanes; ``simulated``: platforms of simulated lanes."""

    groups: tuple[AttestedGroup, ...]
    benchmarks: tuple[AttestedBenchmark, ...]
    doubts: tuple[Doubt, ...]
    exclusion: bool
    simulated: tuple[str, ...]


Attested = tuple[Launch, Record]


def attestation(records: Sequence[Record], launches: Launches) -> AttestationView:
    """The section of attestations, without wire-up launches."""
    measured = _measured(records)
    by_group: dict[tuple[str, str, str], list[Attested]] = defaultdict(list)
    for launch, record in measured:
        by_group[launch.lane, launch.transport, launch.messages or ""].append((launch, record))
    order = sorted(by_group, key=lambda key: (key[0], key[1], _MESSAGES.index(key[2])))
    return AttestationView(
        groups=tuple(_group(*key, by_group[key]) for key in order),
        benchmarks=_benchmarks(measured),
        doubts=_doubts(measured, launches),
        exclusion=any(launch.transport == "shm" for launch, _ in measured),
        simulated=tuple(sorted({_platform(x) for x, _ in measured if x.transport == "simulated"})),
    )


_BASES = {
    "marks": "each size, by the program's marks",
    "lines": "each size, by the tool's output lines",
    "launch": "the whole launch",
}


def _benchmarks(measured: list[Attested]) -> tuple[AttestedBenchmark, ...]:
    by_benchmark: dict[tuple[str, str, str, str], list[Attestation]] = defaultdict(list)
    for launch, record in measured:
        if record.attestation is not None and record.attestation.state == "attested":
            name = " ".join(part for part in (launch.tool, launch.benchmark, launch.messages) if part)
            by_benchmark[launch.lane, launch.transport, name, record.attestation.basis].append(record.attestation)
    return tuple(_benchmark(*key, attested) for key, attested in sorted(by_benchmark.items()))


def _benchmark(lane: str, transport: str, name: str, by: str, attested: list[Attestation]) -> AttestedBenchmark:
    shares = [(one.share, one.part) for each in attested for one in each.parts if one.share is not None]
    least = min(shares, key=lambda one: one[0], default=None)
    hidden = {part.name: part for each in attested for part in each.could_bypass}
    counts = sorted({len(each.parts) for each in attested})
    return AttestedBenchmark(
        lane=lane,
        benchmark=name,
        by=_BASES[by],
        sizes="–".join(str(count) for count in {counts[0]: 0, counts[-1]: 0}) if by != "launch" else "",
        least=f"{percent(least[0])} ({least[1].name})" if least else "",
        could_bypass=_sizes(list(hidden.values())) if transport == "tcp" else "",
        launches=len(attested),
    )


def _sizes(parts: list[PayloadPart]) -> str:
    """The parts as text: a benchmark and case, then the list of its sizes."""
    by_name: dict[str, list[int]] = defaultdict(list)
    for part in parts:
        name = " ".join(word for word in (part.benchmark, part.case) if word)
        by_name[name] += [] if part.msg_size_bytes is None else [part.msg_size_bytes]
    return "; ".join(
        f"{name} {', '.join(str(size) for size in sorted(sizes))} B" if sizes else name
        for name, sizes in by_name.items()
    )


def lanes_attested(records: Sequence[Record]) -> str:
    """The number of attested lanes, as part of a sentence."""
    states: dict[str, list[str]] = defaultdict(list)
    for launch, record in _measured(records):
        states[launch.lane] += [] if record.attestation is None else [record.attestation.state]
    if not states:
        return "there are no launches, so no lane is attested"
    good = sum(set(of_lane) == {"attested"} for of_lane in states.values())
    lanes = "1 lane is" if len(states) == 1 else f"{len(states)} lanes are"
    text = f"{good} of {lanes} attested in every launch"
    refuted = sorted(lane for lane, of_lane in states.items() if "refuted" in of_lane)
    return f"{text} ({', '.join(refuted)}: refuted in some)" if refuted else text


def _measured(records: Sequence[Record]) -> list[Attested]:
    return [(r.launch, r) for r in records if r.launch is not None and r.launch.mode != "wireup"]


def _platform(launch: Launch) -> str:
    hashes = (f"{name}/{digest}" for name, digest in (launch.spec_hash or {}).items())
    return f"{launch.lane}: {', '.join(hashes) or 'no hash was recorded'}"


def _group(lane: str, transport: str, messages: str, launches: list[Attested]) -> AttestedGroup:
    evidence = [record.attestation for _, record in launches if record.attestation is not None]
    counts = Counter(a.state for a in evidence)
    shares = [a.share for a in evidence if a.share is not None]
    share = median(shares) if shares else None
    traffic = [a.traffic for a in evidence if a.traffic is not None]
    return AttestedGroup(
        lane=lane,
        transport=transport,
        messages=messages or "any",
        state=next((s for s in ("refuted", "unknown", "attested") if counts[s]), "unknown"),
        attested=counts["attested"],
        refuted=counts["refuted"],
        unknown=counts["unknown"],
        without=len(launches) - len(evidence),
        share=percent(share),
        bar=0.0 if share is None else min(1.0, max(0.0, share)),
        bytes=amount(sum(t.bytes for t in traffic)) if traffic else amount(None),
        segments=number(sum(t.segments for t in traffic)) if traffic else amount(None),
        wireup=_wireup(evidence),
    )


def _wireup(evidence: list[Attestation]) -> str:
    """The largest wire-up that was subtracted from the traffic of a launch."""
    amounts = [
        (a.wireup_bytes, a.wireup_segments)
        for a in evidence
        if a.wireup_bytes is not None and a.wireup_segments is not None
    ]
    if not amounts:
        return "not measured"
    bytes_, segments = max(amounts)
    return f"{amount(bytes_)} in {number(segments)}"


def _doubts(measured: list[Attested], launches: Launches) -> tuple[Doubt, ...]:
    by_reason: dict[tuple[str, str, str, str], list[Record]] = defaultdict(list)
    for launch, record in measured:
        evidence = record.attestation
        if evidence is not None and evidence.state != "attested":
            key = (evidence.state, launch.lane, launch.messages or "any", evidence.reason)
            by_reason[key].append(record)
    return tuple(
        Doubt(lane, messages, state, reason, launches.links(records))
        for (state, lane, messages, reason), records in sorted(by_reason.items(), key=lambda item: item[0])
    )
