# SPDX-License-Identifier: Apache-2.0
"""Compares the Mop/s of the project's own kernels with NASA's NPB 3.4, as ratios of interleaved pairs on one lane.

    PYTHONPATH=tests python -m benchmarks.npb_speed --source NPB3.4.3 [--classes A,B] [--ranks 1,2] [--pairs 12]
    PYTHONPATH=tests python -m benchmarks.npb_speed DIRECTORY... [--classes A,B] [--ranks 1,2] [--pairs 12]

``--source`` builds NASA's programs from your copy with -O2, with -O3 and with -O3 -march=native, on the stack of the
lane, in a folder of their own (``--work``). Or each DIRECTORY holds NASA's executables of one build, as is.A.x. A pair
runs the own kernel once and each of NASA's builds once. Columns: medians over the pairs; the ratio to the fastest of
NASA's builds in each pair, which favours NASA's; the ratio to the build with the flags of the own kernels. An own
kernel is not slower by more than 3 % where the interval lies above 0.97.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from benchmarks.mpi import mpi_lanes
from benchmarks.paired_runs import interleaved
from fabricbench.errors import BadInput
from fabricbench.setup.probe import lane_environment
from fabricbench.setup.sources.build import Order, build_on, tree_digest
from fabricbench.setup.sources.description import chosen_options, read_description
from fabricbench.setup.sources.recognise import recognise
from fabricbench.site.lane import Lane
from fabricbench.site.settings import build_root
from fabricbench.site.stacks import Installed, Stack
from fabricbench.stats.interval import median_interval

KERNELS = ("is", "cg", "ft")
FLAGS = ("-O2", "-O3", "-O3 -march=native")
COLUMNS = (
    *("kernel, class, ranks", "own, Mop/s", "NASA's, Mop/s", "own / NASA's fastest build", "95 % interval"),
    *("own / NASA's with the same flags", "95 % interval", "own, s", "NASA's, s", "pairs"),
)
NOT_MEASURED = "-"


@dataclass(frozen=True, slots=True)
class Run:
    """A verified run: Mop/s, seconds in the timed region, and the compiler's flags as its report has them."""

    mops: float
    seconds: float
    flags: str


def run(lane: Lane, ranks: int, program: Sequence[str]) -> Run:
    """Runs a program on a lane; exits with a line if it is not verified."""
    assert lane.installed is not None
    argv = [f"{lane.installed.prefix}/bin/mpirun", "-np", str(ranks), *program]
    environment = lane_environment(lane.installed, lane.variables())
    result = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=7200, check=False)
    fields: dict[str, str] = {}
    for row in result.stdout.splitlines():
        name, _, value = row.partition("=")
        fields.setdefault(name.strip(), value.strip())
    if result.returncode or fields.get("Verification") != "SUCCESSFUL":
        sys.exit(f"{' '.join(program)}: {result.stderr[-300:] or result.stdout[-300:]}")
    flags = next((fields[name] for name in ("FFLAGS", "CFLAGS", "Compile options") if fields.get(name)), "")
    return Run(float(fields["Mop/s total"]), float(fields["Time in seconds"]), _plain(flags))


def runs(lane: Lane, ranks: int, programs: Sequence[Sequence[str]]) -> list[Run]:
    """Runs each program once."""
    return [run(lane, ranks, program) for program in programs]


def _plain(flags: str) -> str:
    """Returns compiler flags without those that do not change the code."""
    return " ".join(word for word in flags.split() if word != "-fallow-argument-mismatch")


def build_each(stack: Stack, installed: Installed, source: Path, classes: str, work: Path) -> list[Path]:
    """Builds NASA's programs with each of ``FLAGS`` by the site's build description; returns their folders.

    What is built already is not built again.
    """
    tree = recognise(source)
    description = read_description(tree.package.name)
    if tree.package.name != "npb" or description is None:
        raise BadInput(f"{tree.package.title}", where=str(source), expected="a source tree of NPB, and its description")
    digest, folders = tree_digest(tree.root), []
    for flags in FLAGS:
        options = chosen_options(description, "npb", {"classes": classes, "flags": flags})
        order = Order(tree, description, options, str(source), digest)
        home = work / re.sub(r"\W+", "", flags)
        folders.append(Path(build_on(stack, installed, order, home, lambda line: print(line, file=sys.stderr)).prefix))
    return [folder / "bin" for folder in folders]


def table_row(name: str, pairs: Sequence[tuple[Sequence[Run], Sequence[Run]]]) -> str:
    """Returns the row of one kernel, class and number of ranks. A pair: the own run, and those of NASA's builds."""
    own, best = [a[0] for a, _ in pairs], [max(b, key=lambda one: one.mops) for _, b in pairs]
    alike = [(a[0].mops, one.mops) for a, b in pairs for one in b if one.flags == a[0].flags]
    cells = [name, f"{median(one.mops for one in own):.0f}", f"{median(one.mops for one in best):.0f}"]
    cells += _ratio([a.mops / b.mops for a, b in zip(own, best, strict=True)])
    cells += _ratio([a / b for a, b in alike]) if alike else [NOT_MEASURED, NOT_MEASURED]
    cells += [f"{median(one.seconds for one in side):.2f}" for side in (own, best)]
    return f"| {' | '.join([*cells, str(len(pairs))])} |"


def _ratio(values: Sequence[float]) -> list[str]:
    interval = median_interval(values, 0.95)
    known = interval.low is not None and interval.high is not None
    return [f"{interval.estimate:.3f}", f"{interval.low:.3f} to {interval.high:.3f}" if known else NOT_MEASURED]


def processor() -> str:
    """Returns the name of this machine's processor; ``unknown`` if the system does not report it."""
    match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(errors="replace"), re.MULTILINE)
    return match[1] if match else "unknown"


def main(
    directories: Annotated[list[Path] | None, typer.Argument()] = None,
    source: Path | None = None,
    work: Path | None = None,
    lane: str = "mpich@shm",
    classes: str = "A,B",
    ranks: str = "1,2",
    kernels: str = ",".join(KERNELS),
    pairs: int = 12,
    system: str = "local",
) -> None:
    ((lane_, installed),) = mpi_lanes(system, [lane])
    folders = list(directories or [])
    if source is not None:
        place = work or build_root() / "npb-speed" / lane_.stack.name
        try:
            folders += build_each(lane_.stack, installed, source, classes.replace(",", " "), place.absolute())
        except BadInput as error:
            sys.exit(str(error))
    if not folders:
        sys.exit("no program of NASA; name directories with its executables, or --source NPB")
    target = installed.target.text if installed.target else "unknown"
    print(f"Processor: {processor()}. Lane: {lane}. The own kernels are built for: {target}.\n")
    print(f"| {' | '.join(COLUMNS)} |\n| {' | '.join('---' for _ in COLUMNS)} |", flush=True)
    for kernel in kernels.split(","):
        for problem in classes.split(","):
            own = [f"{installed.apps}/bin/fabricbench-{kernel}", "--class", problem]
            nasa = [[str((folder / f"{kernel}.{problem}.x").resolve())] for folder in folders]
            for count in map(int, ranks.split(",")):
                measurements = interleaved(partial(runs, lane_, count, [own]), partial(runs, lane_, count, nasa), pairs)
                print(table_row(f"{kernel.upper()}.{problem}, {count}", measurements), flush=True)


if __name__ == "__main__":
    typer.run(main)
