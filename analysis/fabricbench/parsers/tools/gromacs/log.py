# SPDX-License-Identifier: Apache-2.0
"""Reads GROMACS's log ``md.log``, releases 2020 to 2026: build, parameters, energies, cycle table."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fabricbench.parsers.output import Unreadable, number, whole
from fabricbench.parsers.tools.gromacs.cycles import Cycles, read_cycles
from fabricbench.parsers.tools.gromacs.energies import FILE, Block, read_energies

_LONGEST_LINE = 10_000
Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Log:
    """The log of one run. Values that the log lacks are None, 0 or empty.

    ``version`` is like "2022.5"; ``build`` has its suffix too. ``mpi`` is the library's name and version (from 2025
    on), else "MPI" or "thread_mpi". ``simd`` is the compiled level, ``simd_possible`` a better one that the processors
    offer. ``ranks`` includes ``pme_ranks``; ``threads`` are OpenMP threads per rank. ``planned_steps`` is the number of
    steps to do; ``total_steps`` counts the first one too, so it is one more; ``steps`` counts from ``reset_step`` on.
    ``halo_atoms`` is the number of atoms that all ranks receive per step, mean over the counted part; as many forces
    are sent back. ``load_imbalance`` (largest over mean, minus 1), ``imbalance_wait`` and ``pme_wait`` are shares,
    ``pme_force_load`` is the ratio of PME's load to that of the other ranks. Times are in seconds, ``time_step_ps`` in
    picoseconds.
    """

    version: str
    build: str
    precision: str
    mpi: str
    simd: str
    simd_possible: str
    atoms: int
    time_step_ps: float | None
    electrostatics: str
    fourier_grids: tuple[Grid, ...]
    pme_order: int
    ranks: int
    pme_ranks: int
    threads: int
    domains: Grid | None
    pme_domains: Grid | None
    first: Block | None
    last: Block | None
    planned_steps: int | None
    last_step: int | None
    reset_step: int | None
    total_steps: int | None
    steps: int | None
    multiple_steps: bool
    halo_atoms: float | None
    load_balancing: str
    load_imbalance: float | None
    imbalance_wait: float | None
    pme_force_load: float | None
    pme_wait: float | None
    gpu: bool
    cycles: Cycles | None
    wall_time_s: float | None
    ns_per_day: float | None
    finished: bool
    lines: dict[str, int] = field(repr=False)
    """The line number of each value that the log has."""

    @property
    def bytes_per_atom(self) -> int:
        """The size of three coordinates or forces."""
        return 24 if self.precision == "double" else 12


_INPUT = {
    "dt": "time_step_ps",
    "coulombtype": "electrostatics",
    "init-step": "init_step",
    "nsteps": "planned_steps",
    "mts": "multiple_steps",
    "pme-order": "pme_order",
    **{f"fourier-n{axis}": f"fourier_{axis}" for axis in "xyz"},
}
"""The input parameters that are read, by their names in the log."""

_LINES = {
    "build": re.compile(r"GROMACS version: +(\S.*)$"),
    "precision": re.compile(r"Precision: +(single|mixed|double)\b"),
    "mpi": re.compile(r"MPI library: +(\S.*)$"),
    "mpi_version": re.compile(r"MPI (?:library )?version: +(\S.*)$"),
    "simd": re.compile(r"SIMD instructions: +(\S+)$"),
    "simd_possible": re.compile(
        r"(?:Highest SIMD level|Likely fastest SIMD instructions) (?:supported|requested) by [^:]*: +(\S+)$"
    ),
    "input": re.compile(rf" +({'|'.join(_INPUT)}) += (\S+)$"),
    "override": re.compile(r"Overriding nsteps with value passed on the command line: (-?\d+) steps\b"),
    "tuned": re.compile(r"step +-?\d+: timed with pme grid (\d+) (\d+) (\d+),"),
    "domains": re.compile(r"Domain decomposition grid (\d+) x (\d+) x (\d+), separate PME ranks (\d+)$"),
    "pme_domains": re.compile(r"PME domain decomposition: (\d+) x (\d+) x (\d+)$"),
    "ranks": re.compile(r"Using (\d+) MPI (?:process|processes|thread|threads)\b"),
    "threads": re.compile(r"Using (\d+)(?: - \d+)? OpenMP threads?\b(?! for PME)"),
    "gpu": re.compile(r"(?:PP|PME) tasks will do .* on the GPU"),
    "atoms": re.compile(r"There are: (\d+) Atoms$"),
    "reset_step": re.compile(r"step (\d+): resetting all time and cycle counters$"),
    "halo_atoms": re.compile(r" av\. #atoms communicated per step for force: +2 x (\S+)$"),
    "load_balancing": re.compile(r" (DLB (?:was|got) .*\S)$"),
    "load_imbalance": re.compile(r" Average load imbalance: +(\S+?) ?%\.?$"),
    "imbalance_wait": re.compile(r" Part of the total run time spent waiting due to load imbalance: +(\S+?) ?%\.?$"),
    "pme_force_load": re.compile(r" Average PME mesh/force load: +(\S+)$"),
    "pme_wait": re.compile(r" Part of the total run time spent waiting due to PP/PME imbalance: +(\S+?) ?%\.?$"),
    "wall_time_s": re.compile(r" +Time: +\S+ +(\S+) +\S+$"),
    "finished": re.compile(r"Finished mdrun on rank 0 "),
}

_ANY = re.compile("|".join(pattern.pattern.removesuffix("$") for pattern in _LINES.values()))


def read_log(text: str) -> Log:
    """The log in ``text``. Unreadable for another file, two runs in one, or a line with an impossible value."""
    lines = text.splitlines()
    facts, where = _facts(lines)
    blocks, last_step = read_energies(lines)
    first, reset = facts.whole("init_step"), facts.whole("reset_step")
    return Log(
        version=facts.version(),
        build=facts.text("build"),
        precision=facts.precision(),
        mpi=facts.text("mpi_version") or facts.text("mpi"),
        simd=facts.text("simd"),
        simd_possible=facts.text("simd_possible"),
        atoms=facts.whole("atoms") or 0,
        time_step_ps=facts.number("time_step_ps"),
        electrostatics=facts.text("electrostatics"),
        fourier_grids=facts.fourier_grids(),
        pme_order=facts.whole("pme_order") or 0,
        ranks=facts.whole("ranks") or 0,
        pme_ranks=facts.whole("domains", 3) or 0,
        threads=facts.whole("threads") or 0,
        domains=facts.grid("domains"),
        pme_domains=facts.grid("pme_domains"),
        first=blocks[0] if blocks else None,
        last=blocks[-1] if blocks else None,
        planned_steps=facts.planned_steps(),
        last_step=last_step,
        reset_step=reset,
        total_steps=_step_count(last_step, first),
        steps=_step_count(last_step, first if reset is None else reset),
        multiple_steps=facts.text("multiple_steps") == "true",
        halo_atoms=facts.number("halo_atoms"),
        load_balancing=facts.text("load_balancing"),
        load_imbalance=facts.percent("load_imbalance"),
        imbalance_wait=facts.percent("imbalance_wait"),
        pme_force_load=facts.number("pme_force_load"),
        pme_wait=facts.percent("pme_wait"),
        gpu=bool(facts.matches.get("gpu")),
        cycles=read_cycles(lines, FILE),
        wall_time_s=facts.number("wall_time_s"),
        ns_per_day=_performance(lines, where),
        finished="finished" in facts.matches and not _after(lines, where["finished"]),
        lines=where,
    )


class _Matches:
    """The matched groups and the line number of each name of ``_LINES`` and ``_INPUT``."""

    def __init__(self) -> None:
        self.matches: dict[str, tuple[tuple[str, ...], int]] = {}
        self.tuned: list[Grid] = []

    def text(self, name: str) -> str:
        return self.matches[name][0][0] if name in self.matches else ""

    def whole(self, name: str, group: int = 0) -> int | None:
        if name not in self.matches:
            return None
        groups, at = self.matches[name]
        return whole(groups[group], FILE, at)

    def number(self, name: str) -> float | None:
        if name not in self.matches:
            return None
        groups, at = self.matches[name]
        return number(groups[0], FILE, at)

    def percent(self, name: str) -> float | None:
        value = self.number(name)
        return None if value is None else round(value / 100, 6)

    def grid(self, name: str) -> Grid | None:
        if name not in self.matches:
            return None
        groups, at = self.matches[name]
        return grid(groups, at)

    def version(self) -> str:
        """The version without the suffix of the build."""
        build = self.text("build")
        release = re.match(r"\d{4}(?:\.\d+)?(?:-(?:beta|rc|dev)\d*)?", build)
        return release[0] if release else build

    def precision(self) -> str:
        """``mixed`` or ``double``; some releases call the former ``single``."""
        return "mixed" if self.text("precision") == "single" else self.text("precision")

    def planned_steps(self) -> int | None:
        """The number of steps of the command line, else of the input; None if it is unlimited."""
        name = "override" if "override" in self.matches else "planned_steps"
        return None if self.text(name).startswith("-") else self.whole(name)

    def fourier_grids(self) -> tuple[Grid, ...]:
        sizes = [self.whole(f"fourier_{axis}") for axis in "xyz"]
        if None in sizes or not self.text("electrostatics").lower().startswith("pme"):
            return ()
        return ((sizes[0] or 0, sizes[1] or 0, sizes[2] or 0), *self.tuned)


def grid(groups: Sequence[str], at: int) -> Grid:
    """Three whole numbers of at least 1; raises Unreadable otherwise."""
    x, y, z = (whole(text, FILE, at) for text in groups[:3])
    if not x * y * z:
        raise Unreadable(FILE, at, "a grid of at least 1 x 1 x 1")
    return x, y, z


def _facts(lines: Sequence[str]) -> tuple[_Matches, dict[str, int]]:
    facts = _Matches()
    for at, line in enumerate(lines, start=1):
        if len(line) > _LONGEST_LINE:
            raise Unreadable(FILE, at, f"a line of at most {_LONGEST_LINE} characters")
        for name, pattern in _LINES.items() if _ANY.match(line) else ():
            if not (match := pattern.match(line)):
                continue
            if name == "build" and name in facts.matches:
                raise Unreadable(FILE, at, "the log of one run, not of two")
            if name == "tuned":
                facts.tuned.append(grid(match.groups(), at))
            elif name == "input":
                facts.matches.setdefault(_INPUT[match[1]], ((match[2],), at))
            else:
                facts.matches.setdefault(name, (match.groups(), at))
    if "build" not in facts.matches:
        raise Unreadable(FILE, None, "the line 'GROMACS version:'")
    return facts, {name: at for name, (_groups, at) in facts.matches.items()}


def _step_count(last: int | None, first: int | None) -> int | None:
    """The number of steps from the first to the last, both included."""
    return None if last is None or first is None or last < first else last - first + 1


def _performance(lines: Sequence[str], where: dict[str, int]) -> float | None:
    """The column ns/day of the line ``Performance:``; None without such a line."""
    for n in range(1, len(lines)):
        if lines[n].startswith("Performance:") and "(ns/day)" in lines[n - 1]:
            heads, values = re.findall(r"\(([^)]*)\)", lines[n - 1]), lines[n].split()[1:]
            if len(heads) != len(values):
                raise Unreadable(FILE, n + 1, f"a value for each of {', '.join(heads)[:100]}")
            where["ns_per_day"] = n + 1
            return number(values[heads.index("ns/day")], FILE, n + 1)
    return None


def _after(lines: Sequence[str], at: int) -> bool:
    return any(line.strip() for line in lines[at:])
