# SPDX-License-Identifier: Apache-2.0
"""The delays that are injected into the messages of a launch, and their notation ``latency=5us``."""

import re
from collections.abc import Iterable
from typing import Literal, get_args

from fabricbench.errors import BadInput
from fabricbench.launch.facts import Injection

INJECT = "FABRICBENCH_INJECT"
"""The environment variable with the delays of a launch, which apps/profiler/inject.h describes."""

LEVELS = "FABRICBENCH_INJECT_LEVELS"
"""The environment variable with the levels for which the checks of applications are defined, with blanks between."""

Kind = Literal["latency", "per_byte", "overhead"]
KINDS: tuple[Kind, ...] = get_args(Kind)
UNITS: dict[Kind, str] = {"latency": "us", "per_byte": "ns", "overhead": "us"}

_NUMBER = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)([a-z]+)", re.ASCII)
_EXPECTED = "latency=5us,10us, per_byte=0.1ns,0.2ns or overhead=1us,2us"


def levels_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Returns the levels in lists such as ``latency=5us,10us``: ``latency=5us``, ``latency=10us``, each once.

    Raises BadInput for an unknown kind of delay, a malformed number, or another unit than that of the kind.
    """
    levels: dict[str, None] = {}
    for text in texts:
        name, _, values = text.partition("=")
        kind = next((kind for kind in KINDS if kind == name), None)
        if kind is None:
            raise BadInput(f"unknown delay '{name[:40]}'", where="--inject", expected=_EXPECTED)
        for value in values.split(","):
            match = _NUMBER.fullmatch(value)
            if match is None or match[2] != UNITS[kind]:
                what = f"'{value[:40]}' is not a {kind} in {UNITS[kind]} below 1000000"
                raise BadInput(what, where="--inject", expected=_EXPECTED)
            levels[f"{kind}={float(match[1]):.15g}{UNITS[kind]}"] = None
    return tuple(levels)


def level_of(level: str) -> tuple[Kind, float]:
    """Returns the kind and the delay of one level, in the unit of the kind; raises BadInput if it is malformed."""
    (single,) = levels_of([level])
    name, _, value = single.partition("=")
    kind = next(kind for kind in KINDS if kind == name)
    return kind, float(value.removesuffix(UNITS[kind]))


def injection_of(level: str) -> Injection:
    """Returns the delays of one level, such as ``latency=5us``."""
    kind, delay = level_of(level)
    return Injection.model_validate({f"{kind}_{UNITS[kind]}": delay})
