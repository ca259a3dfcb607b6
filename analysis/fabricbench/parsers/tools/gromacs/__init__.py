# SPDX-License-Identifier: Apache-2.0
"""GROMACS's ``mdrun``: how fast it simulated, where the time went, and what its ranks must have sent each other."""

from itertools import pairwise
from pathlib import Path

from fabricbench.launch.facts import Launch, joined_case
from fabricbench.launch.record import Row
from fabricbench.parsers.output import Parsed, Unreadable, read_text, whole
from fabricbench.parsers.tools.gromacs.cycles import COMMUNICATION, Activity, Cycles
from fabricbench.parsers.tools.gromacs.energies import FILE, Block
from fabricbench.parsers.tools.gromacs.log import Log, read_log
from fabricbench.parsers.tools.gromacs.payload import payload
from fabricbench.parsers.tools.gromacs.reasons import domain_reason, has_started, why_failed
from fabricbench.parsers.tools.gromacs.verification import REFERENCE, TERMS, Reference, deviations, read_reference

__all__ = [
    "BENCHMARKS",
    "COMMUNICATION",
    "FILE",
    "FILES",
    "REFERENCE",
    "TERMS",
    "Activity",
    "Block",
    "Cycles",
    "Log",
    "Reference",
    "deviations",
    "domain_reason",
    "parse",
    "payload",
    "read_log",
    "read_reference",
    "why_failed",
    "why_refused",
]

BENCHMARKS = ("villin", "lzm", "dppc")
FILES = (FILE, REFERENCE)

_THREAD_MPI = "thread_mpi"
_NO_MPI = "none"
_ROUNDING_NS = 0.001
_ROUNDING_S = 0.0006
_ROUNDING_SHARE = 0.01
"""By how much ns/day may differ from steps over time: both are printed with three digits, and times may be short."""


def parse(directory: Path, launch: Launch) -> Parsed:
    """What ``md.log`` says of the counted part, which begins where the counters were reset.

    ``ns_per_day`` and ``run_time`` as GROMACS prints them. ``communication_time``: the rows ``COMMUNICATION`` of the
    cycle table, as a share of all cycles, times ``run_time``: with separate PME ranks the mean over all ranks by their
    threads, without them the sum of the rows' wall times; 0 for one rank. ``load_imbalance``, ``imbalance_wait`` and
    ``pme_force_load`` where GROMACS reports them: several domains, separate PME ranks, and enough steps.
    ``activity_time``: every row of the cycle table and of the PME breakdown, case ``activity=…``, likewise by its
    cycles: the rows of the table sum to ``run_time``, with separate PME ranks too.

    ``energy_deviation`` where it is expected, case ``step=…``: energies against ``reference.json`` of the launch
    directory; one that is too large is Unreadable.

    A log that is cut off, that ends before the last step, that names no MPI library, or of other ranks, threads, steps
    or atoms than the launch's (``versions`` or ``case`` may hold ``atoms``) is Unreadable.
    """
    text = read_text(directory / FILE)
    log = read_log(text)
    cycles, values = _finished(log, len(text.splitlines()))
    _as_launched(log, launch)
    if log.ranks > 1:
        values["communication_time"] = values["run_time"] * cycles.share(COMMUNICATION)
        imbalance = {
            "load_imbalance": log.load_imbalance,
            "imbalance_wait": log.imbalance_wait,
            "pme_force_load": log.pme_force_load,
        }
        values |= {metric: value for metric, value in imbalance.items() if value is not None}
    else:
        values["communication_time"] = 0.0
    rows = [_row(launch, metric, value) for metric, value in values.items()]
    times: dict[str, float] = {}
    for activity in (*cycles.activities, cycles.total):
        seconds = values["run_time"] * activity.cycles / cycles.total.cycles
        times[activity.slug] = times.get(activity.slug, 0.0) + seconds
    rows += [_row(launch, "activity_time", value, f"activity={slug}") for slug, value in times.items()]
    if any(item.metric == "energy_deviation" for item in launch.expected):
        reference = read_reference(directory / REFERENCE)
        rows += [_row(launch, "energy_deviation", off, f"step={step}") for step, off in deviations(log, reference)]
    return Parsed(tuple(rows), payload(log))


def why_refused(directory: Path) -> str | None:
    """GROMACS's reason not to run the system on so many ranks; None where it failed for another, or after its start."""
    return None if has_started(directory) else domain_reason(why_failed(directory))


def _row(launch: Launch, metric: str, value: float, case: str = "") -> Row:
    return Row(
        benchmark=launch.benchmark,
        case=joined_case(launch.case, case),
        metric=metric,
        msg_size_bytes=None,
        value=value,
    )


def _finished(log: Log, last: int) -> tuple[Cycles, dict[str, float]]:
    """The cycle table and the two figures that every finished log has."""
    if not log.finished:
        raise Unreadable(FILE, last, "the closing line 'Finished mdrun': the log is cut off")
    if log.cycles is None:
        raise Unreadable(FILE, last, "the table 'REAL CYCLE AND TIME ACCOUNTING'")
    if not log.ns_per_day or not log.wall_time_s:
        raise Unreadable(FILE, last, "the lines 'Time:' and 'Performance:' with more than 0 s and 0 ns/day")
    expected = (log.steps or 0) * (log.time_step_ps or 0) * 86.4 / log.wall_time_s
    rounded = _ROUNDING_SHARE + _ROUNDING_S / log.wall_time_s
    if abs(log.ns_per_day - expected) > _ROUNDING_NS + rounded * expected:
        at = log.lines.get("ns_per_day")
        raise Unreadable(FILE, at, f"{expected:.3f} ns/day, its steps over its time, not {log.ns_per_day:.3f}")
    if log.planned_steps is not None and log.total_steps != log.planned_steps + 1:
        at = log.lines.get("planned_steps")
        raise Unreadable(FILE, at, f"its {log.planned_steps} steps, it ended at step {log.last_step}")
    force = log.cycles.activity("Force")
    if force is not None and force.calls != log.steps:
        raise Unreadable(FILE, force.line, f"{log.steps} steps in the counted part, not {force.calls}")
    return log.cycles, {"ns_per_day": log.ns_per_day, "run_time": log.wall_time_s}


def _as_launched(log: Log, launch: Launch) -> None:
    """The run is the launch's: its ranks, its steps, and threads and atoms where the launch says them."""
    if not log.mpi:
        raise Unreadable(FILE, None, "the line 'MPI library:', the log names no MPI library")
    if log.mpi.startswith(_THREAD_MPI):
        raise Unreadable(FILE, log.lines.get("mpi"), "a GROMACS that was built with MPI, not with its thread-MPI")
    if log.mpi == _NO_MPI:
        raise Unreadable(FILE, log.lines.get("mpi"), "a GROMACS that was built with MPI, not without")
    wanted = {
        "ranks": (launch.ranks, log.ranks),
        "threads": (_asked(launch.argv, "-ntomp"), log.threads),
        "atoms": (_number(launch.versions.get("atoms", launch.case.get("atoms"))), log.atoms),
        "planned_steps": (_asked(launch.argv, "-nsteps"), log.planned_steps),
    }
    for name, (asked, found) in wanted.items():
        if asked is not None and asked != found:
            raise Unreadable(FILE, log.lines.get(name), f"{asked} {name.removeprefix('planned_')}, not {found}")


def _asked(argv: tuple[str, ...], name: str) -> int | None:
    """The value of the last option ``name``; None where there is none, or one that leaves it to GROMACS."""
    asked = None
    for option, value in pairwise(argv):
        if option == name and value not in ("-1", "-2"):
            asked = whole(value, "launch.json", None)
    return asked


def _number(value: object) -> int | None:
    return None if value is None else whole(str(value), "launch.json", None)
