# SPDX-License-Identifier: Apache-2.0
"""GROMACS's table of where the time went, ``R E A L   C Y C L E   A N D   T I M E   A C C O U N T I N G``."""

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
"""Half of the last digit that the table shows, in 10^9 cycles, and what binary numbers add to it."""

COMMUNICATION = (
    *("DD comm. load", "DD comm. bounds", "Comm. coord.", "Wait + Comm. F", "Comm. energies"),
    *("Send X to PME", "Wait + Recv. PME F", "PME wait for PP"),
    *("PME redist. X/F", "PME 3D-FFT Comm.", "PME Halo exch comm", "Wait PME Recv. PP X"),
)
"""The rows that hold nothing but messages and waiting for other ranks.

Between ranks of the domain decomposition: coordinates and forces of the halo, sums of energies, load and bounds of
cells. Between these and separate PME ranks: coordinates there, forces back, and each waiting for the other. Within
PME: atoms to the ranks that hold their part of the grid, and the transpositions of the FFT. ``Domain decomp.``,
``Constraints`` and ``Vsite`` rows communicate too, but mostly compute, so they are left out: the sum is a lower bound.
"""


@dataclass(frozen=True, slots=True)
class Activity:
    """One row: ``wall_time_s`` of the ranks that do it, ``cycles`` in 10^9, of all ranks and threads together.

    ``ranks``, ``threads`` and ``calls`` are None for Rest and Total. ``separate``: done by separate PME ranks.
    ``part``: of the PME breakdown, so contained in ``PME mesh``.
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
        """The name as a case's value: ``wait-comm-f`` for "Wait + Comm. F"."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Cycles:
    """The table and the PME breakdown below it; ``total`` is the table's last row."""

    activities: tuple[Activity, ...]
    total: Activity

    def share(self, names: Sequence[str]) -> float:
        """Share of all cycles that the rows of these names have: of all ranks, each counted for its threads."""
        return sum(row.cycles for row in self.activities if row.name in names) / self.total.cycles

    def activity(self, name: str) -> Activity | None:
        """The row of that name, None where the launch has none."""
        return next((row for row in self.activities if row.name == name), None)


def read_cycles(lines: Sequence[str], file: str) -> Cycles | None:
    """The table of a log; None where there is none, Unreadable where it is cut off or its rows are not its total."""
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
        if len(line) <= _WIDEST and (found := _ROW.match(line)):
            row = _activity(found, part, file, n + 1)
            if row.name == "Total":
                total = row
            else:
                rows.append(row)
    if total is None:
        raise Unreadable(file, len(lines), "the cycle table's row 'Total': the log is cut off")
    _sums_up(rows, total, file)
    return Cycles(tuple(rows), total)


def _activity(found: re.Match[str], part: bool, file: str, line: int) -> Activity:
    ranks, threads, calls = (
        whole(text, file, line) if text and text != "N/A" else None for text in found.group("ranks", "threads", "calls")
    )
    name = found["name"]
    number(found["share"], file, line)
    return Activity(
        name=name.removesuffix("*").rstrip(),
        ranks=ranks,
        threads=threads,
        calls=calls,
        wall_time_s=number(found["wall"], file, line),
        cycles=number(found["cycles"], file, line),
        separate=name.endswith("*"),
        part=part,
        line=line,
    )


def _sums_up(rows: Sequence[Activity], total: Activity, file: str) -> None:
    """The rows of the ranks with domains sum to their share of the total, which goes by ranks times threads.

    ``Rest`` is what is missing in the sum, and not printed where that is negative: some rows contain others.
    """
    if not total.cycles:
        raise Unreadable(file, total.line, "a total of more than no cycles")
    domains = [row for row in rows if not row.separate and not row.part]
    counts = {row.separate: (row.ranks or 0) * (row.threads or 0) for row in rows if row.ranks and not row.part}
    everyone = sum(counts.values())
    if not counts.get(False) or not everyone:
        raise Unreadable(file, total.line, "rows with a number of ranks and threads above the total")
    of_domains = total.cycles * counts[False] / everyone
    found = sum(row.cycles for row in domains)
    slack = _ROUNDING * (len(domains) + 1) + 1e-6 * total.cycles
    rest = any(row.name == "Rest" for row in domains)
    if found < of_domains - slack or (rest and found > of_domains + slack):
        raise Unreadable(file, total.line, f"rows that sum to {of_domains:.3f}, not {found:.3f} giga-cycles")
