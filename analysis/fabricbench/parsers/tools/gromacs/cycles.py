# SPDX-License-Identifier: Apache-2.0
"""Reads GROMACS's cycle table, ``R E A L   C Y C L E   A N D   T I M E   A C C O U N T I N G``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fabricbench.parsers.output import Unreadable, number, whole

HEADING = "R E A L   C Y C L E   A N D   T I M E   A C C O U N T I N G"
_BREAKDOWN = " Breakdown of PME mesh "
_ROW = re.compile(
    r"^ (?P<name>\S.*?)(?: +(?P<ranks>\d+|N/A) +(?P<threads>\d+|N/A) +(?P<calls>\d+))?"
    r" +(?P<wall>-?[\d.]+|nan|-?inf) +(?P<cycles>-?[\d.]+|nan|-?inf) +(?P<share>-?[\d.]+|nan|-?inf)$"
)
_WIDEST = 200
_ROUNDING = 0.0006
"""Half of the table's last digit, in 10^9 cycles, plus the error of binary numbers."""

COMMUNICATION = (
    *("DD comm. load", "DD comm. bounds", "Comm. coord.", "Wait + Comm. F", "Comm. energies"),
    *("Send X to PME", "Wait + Recv. PME F", "PME wait for PP"),
    *("PME redist. X/F", "PME 3D-FFT Comm.", "PME Halo exch comm", "Wait PME Recv. PP X"),
)
"""The rows that contain messages and waiting for other ranks only.

Between domains: coordinates and forces of the halo, sums of energies, load and bounds of cells. Between domains and
separate PME ranks: coordinates, forces, and waiting. Within PME: redistribution of atoms, transpositions of the FFT.
``Domain decomp.``, ``Constraints`` and ``Vsite`` also communicate, but mostly compute, so they are not included: the
sum is a lower bound.
"""


@dataclass(frozen=True, slots=True)
class Activity:
    """A row of the table: ``wall_time_s`` of its ranks, ``cycles`` in 10^9 summed over all ranks and threads.

    ``ranks``, ``threads`` and ``calls`` are None for Rest and Total. ``separate``: a row of separate PME ranks.
    ``part``: a row of the PME breakdown, so contained in ``PME mesh``.
    """

    name: str
    ranks: int | None
    threads: int | None
    calls: int | None
    wall_time_s: float
    cycles: float
    separate: bool
    part: bool
    line: int

    @property
    def slug(self) -> str:
        """The name as a value of a case: ``wait-comm-f`` for "Wait + Comm. F"."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Cycles:
    """The table and the PME breakdown below it; ``total`` is the table's last row."""

    activities: tuple[Activity, ...]
    total: Activity

    def share(self, names: Sequence[str]) -> float:
        """The share of the named rows in all cycles, summed over ranks and threads."""
        return sum(row.cycles for row in self.activities if row.name in names) / self.total.cycles

    def activity(self, name: str) -> Activity | None:
        """The row of that name; None if there is none."""
        return next((row for row in self.activities if row.name == name), None)


def read_cycles(lines: Sequence[str], file: str) -> Cycles | None:
    """The table of a log; None if there is none. Unreadable if it is cut off or its rows do not sum to its total."""
    at = next((n for n, line in enumerate(lines) if line.strip() == HEADING), None)
    if at is None:
        return None
    rows: list[Activity] = []
    total: Activity | None = None
    part = False
    for n in range(at + 1, len(lines)):
        line = lines[n]
        if total is not None and (
            line.strip() == "" or (line.startswith(" Breakdown") and not line.startswith(_BREAKDOWN))
        ):
            break
        part = part or line.startswith(_BREAKDOWN)
        if len(line) <= _WIDEST and (match := _ROW.match(line)):
            row = _activity(match, part, file, n + 1)
            if row.name == "Total":
                total = row
            else:
                rows.append(row)
    if total is None:
        raise Unreadable(file, len(lines), "the cycle table's row 'Total': the log is cut off")
    _sums_up(rows, total, file)
    return Cycles(tuple(rows), total)


def _activity(match: re.Match[str], part: bool, file: str, line: int) -> Activity:
    ranks, threads, calls = (
        whole(text, file, line) if text and text != "N/A" else None for text in match.group("ranks", "threads", "calls")
    )
    name = match["name"]
    number(match["share"], file, line)
    return Activity(
        name=name.removesuffix("*").rstrip(),
        ranks=ranks,
        threads=threads,
        calls=calls,
        wall_time_s=number(match["wall"], file, line),
        cycles=number(match["cycles"], file, line),
        separate=name.endswith("*"),
        part=part,
        line=line,
    )


def _sums_up(rows: Sequence[Activity], total: Activity, file: str) -> None:
    """Raises Unreadable if the rows of the domains do not sum to their share of the total, by ranks times threads.

    ``Rest`` is the difference to the total; it is not printed if it is negative, because some rows contain others.
    """
    if not total.cycles:
        raise Unreadable(file, total.line, "a total of more than no cycles")
    domains = [row for row in rows if not row.separate and not row.part]
    counts = {row.separate: (row.ranks or 0) * (row.threads or 0) for row in rows if row.ranks and not row.part}
    everyone = sum(counts.values())
    if not counts.get(False) or not everyone:
        raise Unreadable(file, total.line, "rows with a number of ranks and threads above the total")
    of_domains = total.cycles * counts[False] / everyone
    summed = sum(row.cycles for row in domains)
    slack = _ROUNDING * (len(domains) + 1) + 1e-6 * total.cycles
    rest = any(row.name == "Rest" for row in domains)
    if summed < of_domains - slack or (rest and summed > of_domains + slack):
        raise Unreadable(file, total.line, f"rows that sum to {of_domains:.3f}, not {summed:.3f} giga-cycles")
