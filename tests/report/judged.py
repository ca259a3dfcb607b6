# SPDX-License-Identifier: Apache-2.0
"""A judgement of the synthetic campaign with every verdict, for many sizes and for one size."""

from collections.abc import Iterator

from fabricbench.launch.record import Campaign
from fabricbench.verdict.result import EXIT_STATUS, Cell, Judgement, Verdict

SIZES = tuple(2**k for k in range(3, 23))


def judgement(campaign: Campaign) -> Judgement:
    """Cells with latency bounds for all sizes on every lane, one bandwidth bound, and one comparison."""
    lanes = sorted({r.launch.lane for r in campaign.records if r.launch is not None})
    cells = tuple(cell for lane in lanes for cell in _cells(campaign, lane))
    ordered = sorted(cells, key=lambda cell: cell.requirement)
    status = max((EXIT_STATUS[c.verdict] for c in cells), default=0)
    return Judgement(cells=tuple(ordered), looks=(8, 15, 30), blocks=6, alpha=0.05, exit_status=status)


def _cells(campaign: Campaign, lane: str) -> Iterator[Cell]:
    small = _launches(campaign, lane, "small")
    large = _launches(campaign, lane, "large")
    for i, size in enumerate(SIZES):
        verdict: Verdict = "FAIL" if lane == "mpich@tcp" and size > 65536 else "PASS"
        if lane == "impi@tcp":
            verdict = "INVALID" if size > 65536 else "INCONCLUSIVE"
        yield cell(
            lane,
            "latency",
            size,
            verdict,
            0.5 + 0.01 * i,
            "no more than 0.9 us",
            small if size <= 4096 else large,
        )
    yield cell(lane, "bandwidth", 4194304, "PASS", 8123.4, "at least 8000 MB/s", large)
    if lane.startswith("openmpi"):
        other = lane.replace("openmpi", "impi")
        yield cell(lane, "no-worse", 8, "PASS", 0.94, "no more than 1.05", small, against=other)


def cell(
    lane: str, requirement: str, size: int | None, verdict: Verdict, estimate: float, bound: str,
    launches: tuple[str, ...], against: str | None = None, reason: str | None = None,
) -> Cell:  # fmt: skip
    """One cell with an interval of 2 % around its estimate; an INVALID cell has no interval."""
    has_values = verdict != "INVALID"
    name = f"{requirement}/{lane}" + (f"/{against}" if against else "") + f"/{size}"
    reasons = {
        "PASS": "the whole interval is within the bound", "FAIL": "the whole interval is beyond the bound",
        "INCONCLUSIVE": "the interval straddles the bound",
        "INVALID": "2 of 6 launches are refuted: only 0.1% on TCP",
    }  # fmt: skip
    return Cell(
        name=name, requirement=requirement, text=TEXTS.get(requirement, ""), lane=lane, against=against,
        tool="micro", benchmark="pingpong", metric="latency", msg_size_bytes=size, bound=bound,
        verdict=verdict,
        reason=reasons[verdict] if reason is None else reason,
        unit="ratio" if against else "MB/s" if requirement == "bandwidth" else "us",
        estimate=estimate if has_values else None, low=estimate * 0.98 if has_values else None,
        high=estimate * 1.02 if has_values else None, n=6, confidence=0.969 if has_values else None,
        p_value=0.031 if has_values else None, q_value=0.04 if has_values else None, mde=0.021 if has_values else None,
        launches=launches,
    )  # fmt: skip


TEXTS = {
    "latency": "Latency of a small or large message is what the vendor promised",
    "bandwidth": "A 4 MiB message reaches the promised bandwidth",
    "no-worse": "Open MPI is no worse than Intel MPI on the same fabric",
}


def _launches(campaign: Campaign, lane: str, messages: str) -> tuple[str, ...]:
    return tuple(
        r.directory
        for r in campaign.records
        if r.launch is not None and r.launch.lane == lane and r.launch.benchmark == "pingpong"
        and r.launch.tool == "micro" and r.launch.messages == messages
    )  # fmt: skip
