# SPDX-License-Identifier: Apache-2.0
"""The evidence by benchmark, from real launches."""

from pathlib import Path

from fabricbench.campaign.collect import collect
from fabricbench.launch.record import Campaign, CampaignFacts, Record
from fabricbench.report.attestation import AttestedBenchmark, attestation
from fabricbench.report.links import Launches

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"


def benchmarks(*names: str) -> tuple[AttestedBenchmark, ...]:
    records: tuple[Record, ...] = tuple(collect(LAUNCHES / name) for name in names)
    facts = CampaignFacts(system="local", tier="single", looks=(1,), seed=1, created=0.0)
    campaign = Campaign(name="c", facts=facts, records=records, skips=())
    return attestation(records, Launches(campaign)).benchmarks


def test_evidence_by_benchmark() -> None:
    result = benchmarks(
        "impi-tcp-imb-pt2pt-small-lines",
        "impi-tcp-micro-pingpong-small-marked",
        "impi-tcp-micro-pingpong-small",
        "openmpi-shm-micro-pingpong-small-marked",
        "lying-impi-tcp-imb-barrier",
    )
    assert [(one.lane, one.benchmark, one.by, one.sizes, one.launches) for one in result] == [
        ("impi@tcp", "imb pt2pt small", "each size, by the tool's output lines", "16", 1),
        ("impi@tcp", "micro pingpong small", "the whole launch", "", 1),
        ("impi@tcp", "micro pingpong small", "each size, by the program's marks", "16", 1),
        ("openmpi@shm", "micro pingpong small", "each size, by the program's marks", "16", 1),
    ]


def test_smallest_share_and_sizes_that_could_be_hidden() -> None:
    lines, marks = benchmarks("impi-tcp-imb-pt2pt-small-lines", "impi-tcp-micro-pingpong-small-marked")
    assert marks.least.startswith("100")
    assert marks.least.endswith(" B)")
    assert marks.could_bypass == ""
    # 20 repetitions are too few for a line to decide the smallest sizes.
    assert lines.could_bypass.startswith("pingpong 0, 1, 2, 4, 8,")
    assert lines.could_bypass.endswith("exchange 0, 1, 2, 4, 8, 16, 32, 64, 128, 256 B")


def test_shared_memory_has_no_share_and_no_hidden_sizes() -> None:
    (result,) = benchmarks("openmpi-shm-micro-pingpong-small-marked")
    assert (result.least, result.could_bypass) == ("", "")
