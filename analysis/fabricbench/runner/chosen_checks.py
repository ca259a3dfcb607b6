# SPDX-License-Identifier: Apache-2.0
"""Loads and registers only the checks that the options ``-n`` of ReFrame can choose.

ReFrame loads every file of checks, instantiates every check for each value of its parameters, and applies ``-n``
afterwards. Most of the processor time of a session with a few checks was that of the others.
"""

import re
from collections.abc import Callable, Iterator, Sequence

_BEGINNING = re.compile(r"\^(\w+)([*?{]?)")
_CLASS = re.compile(r"^\s*class\s+(\w+)", re.MULTILINE)
_OTHER_SPELLING = re.compile(r"--n|--mo|-[qrRv]+n")
"""Abbreviations and combinations of options that may hold names; ``--mode`` takes options from the settings."""


def class_beginnings(arguments: Sequence[str]) -> tuple[str, ...] | None:
    """Returns the possible beginnings of the chosen checks' class names; None if they are not known.

    ReFrame searches the patterns of ``-n`` in a name that starts with the name of the class. Known are the beginnings
    of patterns that start with ``^`` and a word.
    """
    patterns = list(_patterns(iter(arguments)))
    if not patterns or None in patterns:
        return None
    beginnings = [_beginning(part) for pattern in patterns if pattern is not None for part in _alternatives(pattern)]
    return None if "" in beginnings else tuple(beginnings)


def may_define(source: str, beginnings: tuple[str, ...]) -> bool:
    """Whether a file of checks may define a class whose name begins with one of ``beginnings``.

    A file that calls the decorator as a function may register a class of any name.
    """
    return "simple_test(" in source or any(name.startswith(beginnings) for name in _CLASS.findall(source))


def filtered(register: Callable[[type], type], beginnings: tuple[str, ...]) -> Callable[[type], type]:
    """Returns a decorator that applies ``register`` to classes whose name begins with one of ``beginnings`` only."""
    return lambda check: register(check) if check.__name__.startswith(beginnings) else check


def _patterns(words: Iterator[str]) -> Iterator[str | None]:
    """Yields the pattern of each option ``-n``; None for a word that may hold further ones."""
    for word in words:
        if word in ("-n", "--name"):
            yield next(words, None)
        elif word.startswith("--name="):
            yield word.removeprefix("--name=")
        elif word.startswith("-n"):
            yield word.removeprefix("-n")
        elif _OTHER_SPELLING.match(word):
            yield None


def _alternatives(pattern: str) -> list[str]:
    """Splits a pattern at each ``|`` outside parentheses. A pattern with a more complicated ``|`` has no beginning."""
    if "|" in pattern and re.search(r"[\\\[]", pattern):
        return [""]
    parts, depth = [""], 0
    for character in pattern:
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _beginning(part: str) -> str:
    """Returns the word that a pattern begins with; empty if it has none."""
    match = _BEGINNING.match(part)
    if match is None:
        return ""
    return match[1][:-1] if match[2] else match[1]
