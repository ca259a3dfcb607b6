# SPDX-License-Identifier: Apache-2.0
"""Reads GROMACS's error messages, and recognises those about the number of ranks."""

import re
from itertools import takewhile
from pathlib import Path

from fabricbench.files.reading import read_ends

MOST_CHARACTERS = 600
_READ_BYTES = 256 * 2**10
"""Bytes of either end of a file that are searched."""

_TRAILER = re.compile(r"For more information|-{20}")
_WARNING = re.compile(r"step \d+: One or more water molecules can not be settled|Step \d+, time .*LINCS WARNING")
"""Warnings of atoms that moved too far, after which GROMACS may crash without an error message."""

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
"""Messages that box, cut-off and constraints do not allow the number of domains; # stands for a number.

Source: domdec.cpp, domdec_setup.cpp, cellsizes.cpp, partition.cpp, domdec_specatomcomm.cpp and pme.cpp of GROMACS,
releases 2020 to 2026.
"""


def why_failed(directory: Path) -> str:
    """GROMACS's error message in one line of at most 600 characters; empty if stderr and log have none.

    Without an error message it is the first warning of atoms that moved too far.
    """
    texts = [_ends(directory / name) for name in ("stderr", "md.log")]
    for find in (error_of, _warning):
        for text in texts:
            if reason := find(text):
                return reason[:MOST_CHARACTERS]
    return ""


def has_started(directory: Path) -> bool:
    """Whether the log reports the start of the steps; later failures do not depend on the number of domains."""
    return "\nStarted mdrun on rank" in _ends(directory / "md.log")


def error_of(text: str) -> str:
    """The first error message in ``text``, in one line; empty if there is none.

    GROMACS prints program, source file and rank, an empty line, the kind of error and the error, and a trailer.
    """
    lines = iter(text.splitlines())
    if not any(line.startswith("Program: ") for line in lines) or not any(not line.strip() for line in lines):
        return ""
    return " ".join(" ".join(takewhile(lambda line: not _TRAILER.match(line), lines)).split())


def _warning(text: str) -> str:
    warning = next((line for line in text.splitlines() if _WARNING.match(line)), "")
    return " ".join(warning.split())


def domain_reason(text: str) -> str | None:
    """GROMACS's message that the system does not allow the number of ranks; None if ``text`` has none.

    ``text`` is the standard error of mdrun, its log, or the result of ``why_failed``.
    """
    plain = " ".join(text.split())
    for pattern in _DOMAINS:
        if match := pattern.search(plain):
            return match[0]
    return None


def _ends(path: Path) -> str:
    """Beginning and end of a text file; empty if it cannot be read."""
    try:
        raw = read_ends(path, _READ_BYTES, _READ_BYTES)
    except OSError:
        return ""
    return raw.decode("utf-8", errors="replace")
