# SPDX-License-Identifier: Apache-2.0
"""Lists of node names in Slurm's short form, ``n[1-3,07],login``."""

import re
from itertools import product

_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
MOST_NAMES = 2**17
"""The most names of a list; a longer list is not expanded."""


def expand(hostlist: str) -> tuple[str, ...]:
    """Returns the names of a list in their order; none if it is not such a list or has too many names.

    Numbers keep their leading zeros. A name may have several ranges, ``r[1-2]n[1-4]``.
    """
    names: list[str] = []
    for part in _PART.findall(hostlist):
        words = _RANGES.split(part)
        choices = [_numbers(word) if at % 2 else [word] for at, word in enumerate(words)]
        if not all(choices):
            return ()
        names += map("".join, product(*choices))
        if len(names) > MOST_NAMES:
            return ()
    return tuple(names)


def _numbers(ranges: str) -> list[str]:
    numbers: list[str] = []
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text)
        if match is None:
            return []
        first, last = match[1], match[2] or match[1]
        if int(last) - int(first) >= MOST_NAMES:
            return []
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return numbers
