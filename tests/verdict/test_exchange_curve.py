# SPDX-License-Identifier: Apache-2.0
"""Tests the curve of exchanges, whose times alternate if the ranks enter at different times."""

import pytest

from support.attributed import curves_of
from support.micro import Values


def test_an_exchange_has_the_mean_time() -> None:
    """Short and long exchanges of 10 and 210 us in turn: the median is one of them, the mean is 110 us."""
    size, short, mean = 1000, 10e-6, 110e-6
    values: Values = {("message_rate", "window=1", at): 2 / short for at in (0, size)}
    values["bandwidth_mean", "window=1", size] = 1e-6 * 2 * size / mean
    exchange = curves_of([("bidirectional", 2, values)]).messages.exchange
    assert exchange is not None
    assert exchange.sizes == (size,)
    assert exchange.at(size) == pytest.approx(mean)


def test_without_mean_bandwidths_an_exchange_has_the_time_of_the_message_rate() -> None:
    exchange = curves_of([("bidirectional", 2, {("message_rate", "window=1", 1000): 2 / 10e-6})]).messages.exchange
    assert exchange is not None
    assert exchange.at(1000) == pytest.approx(10e-6)
