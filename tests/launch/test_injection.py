# SPDX-License-Identifier: Apache-2.0
"""Tests the notation of injected delays."""

import pytest

from fabricbench.errors import BadInput
from fabricbench.launch.facts import Injection
from fabricbench.launch.injection import injection_of, levels_of


def test_levels_of_a_list() -> None:
    assert levels_of(["latency=5us,10.50us", "per_byte=0.2ns", "latency=5us"]) == (
        "latency=5us",
        "latency=10.5us",
        "per_byte=0.2ns",
    )
    assert levels_of([]) == ()


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("latency=5us", Injection(latency_us=5.0)),
        ("per_byte=0.2ns", Injection(per_byte_ns=0.2)),
        ("overhead=0us", Injection()),
    ],
)
def test_delays_of_a_level(level: str, expected: Injection) -> None:
    assert injection_of(level) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("latency", "latency=", "latency=5", "latency=5ms", "latency=-5us", "latency=5us,", "latency=1e3us"),
        *("per_byte=5us", "jitter=5us", "", "latency=1000000us", "latency=nanus", "latency=5us overhead=1us"),
    ],
)
def test_malformed_levels(text: str) -> None:
    with pytest.raises(BadInput, match="--inject"):
        levels_of([text])
