# SPDX-License-Identifier: Apache-2.0
"""Captured logs of GROMACS, and launches that fit them."""

from pathlib import Path
from typing import Any

from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.tools.gromacs import Log, read_log

CAPTURES = Path(__file__).resolve().parents[1] / "data/gromacs"


def log_text(name: str) -> str:
    return (CAPTURES / name / "md.log").read_text()


def log_of(name: str) -> Log:
    return read_log(log_text(name))


def synthetic_launch(**values: Any) -> Launch:
    facts: dict[str, Any] = {
        "id": "b000 openmpi@tcp gromacs villin np=2",
        "block": 0,
        "position": 0,
        "system": "local",
        "fabric": "tcp",
        "transport": "tcp",
        "stack": "openmpi",
        "tool": "gromacs",
        "benchmark": "villin",
        "ranks": 2,
        "nodes": 1,
        "argv": ("gmx_mpi", "mdrun", "-nsteps", "40"),
        "limit_seconds": 120,
    }
    return Launch.model_validate(facts | values)


def values_of(parsed: Parsed) -> dict[str, float]:
    """Values by metric, or by activity if there is one."""
    names = ((row, [word for word in row.case.split() if word.startswith("activity=")]) for row in parsed.rows)
    return {words[0].removeprefix("activity=") if words else row.metric: row.value for row, words in names}
