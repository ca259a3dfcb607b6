# SPDX-License-Identifier: Apache-2.0
"""Parses numbers as C and Fortran print them; rejects other texts that Python accepts as numbers."""

import math

import pytest

from fabricbench.parsers.output import Unreadable, number, whole


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("0.00", 0), ("12.50", 12.5), ("7.", 7), (".5", 0.5), ("1e-3", 0.001), ("3.16739E+04", 31673.9)],
)
def test_numbers_as_tools_print_them(text: str, value: float) -> None:
    assert number(text, "stdout", 3) == value


def test_a_negative_zero_is_zero() -> None:
    assert math.copysign(1, number("-0.00", "stdout", 3)) == 1


@pytest.mark.parametrize(
    "text",
    ["", " ", "1_0", "1 0", " 1", "1 ", "1\n", "+1", "１０", "٣", "0x10", "1e", "e5", ".", "--1", "1,5", "1.2.3", "½"],
)
def test_texts_that_are_not_numbers(text: str) -> None:
    with pytest.raises(Unreadable) as error:
        number(text, "stdout", 3)
    assert str(error.value) == f"stdout:3: expected a number, not '{text}'"


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "inf", "Infinity", "+Infinity", "-inf", "1e999", "-1", "-0.01"])
def test_numbers_that_are_not_measurements(text: str) -> None:
    with pytest.raises(Unreadable) as error:
        number(text, "stdout", 3)
    assert str(error.value) == f"stdout:3: expected a finite number of at least 0, not '{text}'"


@pytest.mark.parametrize("text", ["", "-1", "1_0", "1.0", " 1", "1\n", "+1", "１０", "²", "1" * 19])
def test_texts_that_are_not_whole_numbers(text: str) -> None:
    with pytest.raises(Unreadable, match="stdout:3: expected a whole number"):
        whole(text, "stdout", 3)
