# SPDX-License-Identifier: Apache-2.0
"""LogGP from curves whose parameters are known."""

import numpy as np
import pytest

from fabricbench.stats.loggp import Curve, LogGP, loggp, segments

SIZES = (0, *(2**k for k in range(23)))
LATENCY, SEND, RECEIVE, SKIPPED = 10.0, 2.0, 3.0, 4.0


def gap(size: int) -> float:
    """1 ns a byte up to 16 KiB, beyond it a handshake of 60 us and 0.5 ns a byte."""
    return SKIPPED + size / 1000 if size <= 16384 else 60 + 0.5 * size / 1000


def curve(of: object, noise: float = 0.0, seed: int = 0) -> dict[int, float]:
    assert callable(of)
    draw = np.random.default_rng(seed)
    return {size: float(of(size) * np.exp(noise * draw.standard_normal())) for size in SIZES}


def known_parameters(noise: float = 0.0, seed: int = 0) -> LogGP:
    result = loggp(
        curve(lambda size: 2 * (LATENCY + SEND + RECEIVE) + size / 1000, noise, seed),
        curve(lambda _: SEND, noise, seed + 1),
        curve(lambda _: RECEIVE, noise, seed + 2),
        curve(gap, noise, seed + 3),
    )
    assert result is not None
    return result


def test_known_parameters() -> None:
    result = known_parameters()
    assert result.size == 0
    assert result.latency_us == pytest.approx(LATENCY)
    assert (result.send_overhead_us, result.receive_overhead_us, result.gap_us) == (SEND, RECEIVE, SKIPPED)
    assert result.plogp_latency_us == pytest.approx(15 - SKIPPED)
    eager, rendezvous = result.segments
    assert (eager.first, eager.last, rendezvous.first, rendezvous.last) == (0, 16384, 32768, 2**22)
    assert [eager.gap_us, eager.ns_per_byte] == pytest.approx([SKIPPED, 1.0])
    assert [rendezvous.gap_us, rendezvous.ns_per_byte] == pytest.approx([60.0, 0.5])


def test_parameters_are_recovered_under_five_per_cent_noise() -> None:
    result = [known_parameters(0.05, seed) for seed in range(0, 400, 4)]
    assert np.median([each.latency_us for each in result]) == pytest.approx(LATENCY, rel=0.05)
    last = [each.segments[-1].ns_per_byte for each in result]
    assert np.median(last) == pytest.approx(0.5, rel=0.02)
    assert np.quantile(np.abs(np.array(last) - 0.5), 0.9) < 0.05
    switch = [[each.last for each in one.segments if each.last < 2**22] for one in result]
    assert np.mean([16384 in ends for ends in switch]) > 0.8


def test_one_line_is_one_segment() -> None:
    for noise in (0.0, 0.05):
        count = [len(segments(curve(lambda size: 5 + size / 100, noise, seed))) for seed in range(40)]
        assert np.mean(np.array(count) == 1) > 0.8


@pytest.mark.parametrize("points", [{}, {8: 1.0}, {0: 1.0, 8: 2.0}, {0: 0.0, 8: 0.0, 16: 0.0}])
def test_too_few_points_have_no_line(points: Curve) -> None:
    assert segments(points) == ()


def test_a_falling_curve_has_zero_time_per_byte() -> None:
    (line,) = segments({1: 3.0, 2: 2.9, 4: 2.8, 8: 2.7})
    assert line.ns_per_byte == 0.0
    assert 2.7 < line.gap_us < 3.0


def test_curves_without_a_common_size_have_no_parameters() -> None:
    assert loggp({0: 1.0}, {1: 1.0}, {1: 1.0}, {1: 1.0}) is None
    assert loggp({}, {}, {}, {}) is None
