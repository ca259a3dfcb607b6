# SPDX-License-Identifier: Apache-2.0
"""Parses the log of GROMACS's ``mdrun``: speed, cycle table, energies, payload."""

from itertools import pairwise
from pathlib import Path

from fabricbench.launch.facts import Launch, joined_case
from fabricbench.launch.record import Row
from fabricbench.parsers.output import Parsed, TimedCalls, Unreadable, read_text, whole
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
TIMED_CALLS = (TimedCalls("activity_time", "activity=pme-3d-fft-comm", ("MPI_Alltoall", "MPI_Alltoallv")),)
"""The other rows of the cycle table contain packing and unpacking too."""

_THREAD_MPI = "thread_mpi"
_NO_MPI = "none"
_ROUNDING_NS = 0.001
_ROUNDING_S = 0.0006
_ROUNDING_SHARE = 0.01
"""Accepted differences between the printed ns/day and steps over time: both have three digits only."""


def parse(directory: Path, launch: Launch) -> Parsed:
    """The rows and the payload of ``md.log`` in a launch directory, for the steps after the reset of the counters.

    ``ns_per_day`` and ``run_time`` are GROMACS's values. ``communication_time`` is the share of the rows
    ``COMMUNICATION`` in all cycles times ``run_time``, and 0 for one rank. ``load_imbalance``, ``imbalance_wait`` and
    ``pme_force_load`` are included if GROMACS prints them. ``activity_time``, case ``activity=…``, is the share of each
    row of the cycle table and of the PME breakdown times ``run_time``.

    ``energy_deviation``, case ``step=…``, compares energies with the directory's ``reference.json``, if it is expected.

    Raises Unreadable if the log is cut off, ends before the last step, names no MPI library, differs from the launch in
    ranks, threads, steps or atoms (``atoms`` of ``versions`` or ``case``), or has wrong energies.
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
    """GROMACS's reason to refuse the number of ranks; None if it failed for another reason or after the start."""
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
    """Returns cycle table, ns/day and wall time of a log; Unreadable if it is unfinished or inconsistent."""
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
    """Raises Unreadable if ranks, steps, threads or atoms differ from those that the launch names."""
    if not log.mpi:
        raise Unreadable(FILE, None, "the line 'MPI library:', the log names no MPI library")
    if log.mpi.startswith(_THREAD_MPI):
        raise Unreadable(FILE, log.lines.get("mpi"), "a GROMACS that was built with MPI, not with its thread-MPI")
    if log.mpi == _NO_MPI:
        raise Unreadable(FILE, log.lines.get("mpi"), "a GROMACS that was built with MPI, not without")
    expected = {
        "ranks": (launch.ranks, log.ranks),
        "threads": (_requested(launch.argv, "-ntomp"), log.threads),
        "atoms": (_number(launch.versions.get("atoms", launch.case.get("atoms"))), log.atoms),
        "planned_steps": (_requested(launch.argv, "-nsteps"), log.planned_steps),
    }
    for name, (requested, actual) in expected.items():
        if requested is not None and requested != actual:
            raise Unreadable(FILE, log.lines.get(name), f"{requested} {name.removeprefix('planned_')}, not {actual}")


def _requested(argv: tuple[str, ...], name: str) -> int | None:
    """The value of the last option ``name``; None if there is none, or if GROMACS is to choose."""
    requested = None
    for option, value in pairwise(argv):
        if option == name and value not in ("-1", "-2"):
            requested = whole(value, "launch.json", None)
    return requested


def _number(value: object) -> int | None:
    return None if value is None else whole(str(value), "launch.json", None)
