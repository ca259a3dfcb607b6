# SPDX-License-Identifier: Apache-2.0
"""The committed description of the project's own benchmarks fits the parts of the package that read it."""

from fabricbench.attestation.marks import BARRIERS_EACH
from fabricbench.launch.facts import canonical_case, case_parts
from fabricbench.metrics import METRICS
from fabricbench.parsers.tools.micro import BENCHMARKS
from fabricbench.parsers.tools.micro.description import DESCRIPTION, MEASURED
from fabricbench.parsers.tools.micro.estimates import SAMPLES


def test_every_benchmark_but_wireup_measures_something() -> None:
    names = [benchmark.name for benchmark in DESCRIPTION.benchmarks]
    assert names == sorted(set(names))
    assert set(names) - set(BENCHMARKS) == {"wireup"}


def test_every_sample_has_an_estimator_and_every_metric_a_unit() -> None:
    for benchmark in MEASURED.values():
        assert set(benchmark.samples) <= set(SAMPLES)
        assert {metric.name for metric in benchmark.metrics} <= METRICS.keys()
        assert benchmark.metrics


def test_bandwidths_are_marked_as_such() -> None:
    for benchmark in MEASURED.values():
        for metric in benchmark.metrics:
            assert metric.bandwidth == ("bandwidth" in metric.name)


def test_the_cases_of_a_benchmark_are_its_amounts_and_words() -> None:
    posted = MEASURED["posted"]
    assert list(posted.cases((0, 16)))[:4] == [
        "queued=0 tags=equal",
        "queued=0 tags=different",
        "queued=0 tags=wildcard",
        "queued=16 tags=equal",
    ]
    assert list(MEASURED["reuse"].cases()) == [f"reuse={share}" for share in (100, 75, 50, 25, 0)]
    assert list(MEASURED["pingpong"].cases()) == [""]
    for benchmark in MEASURED.values():
        assert all(canonical_case(case_parts(case)) == case for case in benchmark.cases())


def test_a_ratio_has_a_base_among_the_cases() -> None:
    for benchmark in MEASURED.values():
        has_ratio = "latency_ratio" in {metric.name for metric in benchmark.metrics}
        assert has_ratio == bool(benchmark.base)
        assert not benchmark.base or any(benchmark.base in case.split() for case in benchmark.cases())


def test_the_messages_that_a_rank_holds() -> None:
    messages = {name: MEASURED[name].held_by(4) for name in ("allreduce", "alltoall", "gather", "pingpong")}
    assert messages == {"allreduce": 2, "alltoall": 8, "gather": 5, "pingpong": 0}


def test_attestation_knows_the_barriers_of_a_calibration() -> None:
    assert DESCRIPTION.barriers_per_calibration == BARRIERS_EACH
