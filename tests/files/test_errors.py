# SPDX-License-Identifier: Apache-2.0
"""Errors of the input: the nearest names, the text, unknown metrics."""

import pytest

from fabricbench.errors import BadInput, nearest
from fabricbench.metrics import metric


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("tpc", ["shm", "tcp"], "tcp"),
        ("latencies", ["latency", "latency_mean", "bandwidth"], "latency, latency_mean"),
        ("zzz", ["b", "a", "a"], "one of a, b"),
        ("", ["a"], "one of a"),
        ("x", [], "nothing: none is known here"),
        ("zzz", [f"n{k:02d}" for k in range(30)], "one of " + ", ".join(f"n{k:02d}" for k in range(20))),
    ],
)
def test_the_hint_has_the_nearest_names(name: str, known: list[str], text: str) -> None:
    assert nearest(name, known) == text
    assert nearest(name, iter(known)) == text


def test_an_error_shows_place_expectation_and_hint() -> None:
    assert str(BadInput("x is wrong")) == "x is wrong"
    assert str(BadInput("w", where="f:3", expected="e", hint="c")) == "f:3: w; expected e; c"
    assert str(BadInput("w", hint="c")) == "w; c"


def test_a_metric_by_its_name() -> None:
    assert (metric("bandwidth").unit, metric("bandwidth").better) == ("MB/s", "higher")
    with pytest.raises(BadInput, match="f: unknown metric 'latncy'; expected latency"):
        metric("latncy", where="f")
