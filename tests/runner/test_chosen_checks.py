# SPDX-License-Identifier: Apache-2.0
"""ReFrame registers only the checks that its options ``-n`` can choose."""

import pytest

from fabricbench.runner.chosen_checks import class_beginnings, filtered, may_define


@pytest.mark.parametrize(
    ("arguments", "beginnings"),
    [
        (("-n", "^MicroPingpong%messages=small"), ("MicroPingpong",)),
        (("-c", "checks", "--name=^NPB", "-n^Imb", "--name", "^Osu.*(bw|lat)"), ("NPB", "Imb", "Osu")),
        (("-n", "^MicroPingpong|^Imb(?=.*=1(%|$))"), ("MicroPingpong", "Imb")),
        (("-n", "^Imbs?Barrier"), ("Imb",)),
        (("-n", "^Npb*"), ("Np",)),
    ],
)
def test_patterns_that_start_with_a_word_have_a_beginning(arguments: tuple[str, ...], beginnings: object) -> None:
    assert class_beginnings(arguments) == beginnings


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("-t", "^quick$", "-r"),
        ("-n", "Pingpong"),
        ("-n", "^Imb", "-n", "Pingpong"),
        ("-n", "^Imb|Pingpong"),
        ("-n", "^(Imb|Micro)"),
        ("-n", "^I?mb"),
        ("-n", "^Imb[|]"),
        ("-n", "/a5066e56"),
        ("-n", "MicroPingpong@0"),
        ("-n", ""),
        ("-n",),
        ("-n", "^Imb", "-rn", "Pingpong"),
        ("-n", "^Imb", "--nam", "Pingpong"),
        ("-n", "^Imb", "--mode=all"),
    ],
)
def test_other_patterns_may_choose_every_check(arguments: tuple[str, ...]) -> None:
    assert class_beginnings(arguments) is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@rfm.simple_test\nclass ImbBarrier(Imb):\n", True),
        ("if LEVELS:\n    @rfm.simple_test\n    class  ImbInjected(Imb): ...\n", True),
        ("for name in NAMES:\n    rfm.simple_test(make(name))\n", True),
        ("from .imb import ImbBarrier\nclass MicroBarrier(Micro): ...\n", False),
        ("# ImbBarrier\n", False),
    ],
)
def test_files_without_such_a_class_are_not_loaded(source: str, expected: bool) -> None:
    assert may_define(source, ("Imb",)) is expected


def test_other_classes_are_not_registered() -> None:
    class MicroPingpong: ...

    class ImbBarrier: ...

    registered: list[type] = []

    def register(check: type) -> type:
        registered.append(check)
        return check

    decorate = filtered(register, ("Micro",))
    assert (decorate(MicroPingpong), decorate(ImbBarrier)) == (MicroPingpong, ImbBarrier)
    assert registered == [MicroPingpong]
