# SPDX-License-Identifier: Apache-2.0
"""Why GROMACS ended: the block that it prints for an error, and which of them are about the number of ranks."""

import re
from itertools import takewhile
from pathlib import Path

from fabricbench.files.reading import read_ends

MOST_CHARACTERS = 600
_READ_BYTES = 256 * 2**10
"""How much of either end of a file is looked through: a block stands near the end, unless ranks print many."""

_TRAILER = re.compile(r"For more information|-{20}")
_WARNING = re.compile(r"step \d+: One or more water molecules can not be settled|Step \d+, time .*LINCS WARNING")
"""What GROMACS says of atoms that moved too far, before it may crash without an error block."""

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_DOMAINS = tuple(
    re.compile(pattern.replace("#", _NUMBER))
    for pattern in (
        r"There is no domain decomposition for # ranks that is compatible with the given box"
        r" and a minimum cell size of # nm",
        r"The initial cell size \(#\) is smaller than the cell size limit \(#\)",
        r"The size of the domain decomposition grid \(#\) does not match the number of (?:PP )?ranks \(#\)",
        r"The number of ranks (?:selected for particle-particle work|you selected) \(#\)"
        r" contains a large prime factor #",
        r"Cannot have # separate PME ranks with only # PP ranks",
        r"The number of separate PME ranks \(#\) is larger than the number of PP ranks \(#\)",
        r"Could not find an appropriate number of separate PME ranks",
        r"The \w-size of the box \(#\) times the triclinic skew factor \(#\) is smaller"
        r" than the number of DD cells \(#\) times the smallest allowed cell size \(#\)",
        r"The \w-size \(#\) times the triclinic skew factor \(#\) is smaller"
        r" than the smallest allowed cell size \(#\) for domain decomposition grid cell # # #",
        r"DD cell # # # could only obtain # of the # atoms that are connected via \w+ from the neighboring cells",
        r"The number of PME grid lines per rank along x is #",
    )
)
"""What GROMACS says where boxes, cut-offs and constraints do not allow that many domains; # stands for a number.

Source: domdec.cpp, domdec_setup.cpp, cellsizes.cpp, partition.cpp, domdec_specatomcomm.cpp and pme.cpp of GROMACS,
releases 2020 to 2026.
"""


def why_failed(directory: Path) -> str:
    """GROMACS's own reason in one line of at most 600 characters; empty where stderr and log have none.

    The error that it prints; where it crashed without, its first warning of atoms that moved too far.
    """
    texts = [_ends(directory / name) for name in ("stderr", "md.log")]
    for find in (error_of, _warning):
        for text in texts:
            if reason := find(text):
                return reason[:MOST_CHARACTERS]
    return ""


def has_started(directory: Path) -> bool:
    """Whether the log says that the steps began: domains that break then are no matter of how many there are."""
    return "\nStarted mdrun on rank" in _ends(directory / "md.log")


def error_of(text: str) -> str:
    """The first error block in ``text``, in one line; empty where there is none.

    It is program, source file and rank, an empty line, the kind of error and the error, and a trailer.
    """
    lines = iter(text.splitlines())
    if not any(line.startswith("Program: ") for line in lines) or not any(not line.strip() for line in lines):
        return ""
    return " ".join(" ".join(takewhile(lambda line: not _TRAILER.match(line), lines)).split())


def _warning(text: str) -> str:
    found = next((line for line in text.splitlines() if _WARNING.match(line)), "")
    return " ".join(found.split())


def domain_reason(text: str) -> str | None:
    """GROMACS's one-line reason why that many ranks are not to be had with this system; None where it says no such.

    ``text`` is what mdrun printed on stderr, its log, or ``why_failed``'s line.
    """
    plain = " ".join(text.split())
    for pattern in _DOMAINS:
        if found := pattern.search(plain):
            return found[0]
    return None


def _ends(path: Path) -> str:
    """Beginning and end of a text file; empty where it cannot be read."""
    try:
        raw = read_ends(path, _READ_BYTES, _READ_BYTES)
    except OSError:
        return ""
    return raw.decode("utf-8", errors="replace")
