# SPDX-License-Identifier: Apache-2.0
"""Runs programs with the witness preloaded, and reads its reports."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Run = Callable[..., list[Json]]


def environment(witness: Path, out: Path | None, **extra: str) -> dict[str, str]:
    """Returns the environment of this process with the witness preloaded and without a rank number."""
    ranks = ("PMI", "OMPI", "SLURM", "FABRICBENCH")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ranks)}
    where = {"FABRICBENCH_WITNESS_DIR": str(out)} if out else {}
    return {**inherited, "LD_PRELOAD": str(witness), **where, **extra}


def reports(out: Path) -> list[Json]:
    """Reads all reports, those of forked children last. The directory must contain nothing else."""
    assert not [path for path in out.iterdir() if not path.name.startswith("witness.")]
    contents: list[Json] = [json.loads(path.read_text("utf-8")) for path in sorted(out.iterdir())]
    return sorted(contents, key=lambda report: bool(report["forked"]))


def by_tx(report: Json) -> list[Json]:
    """The sockets of a report, senders first."""
    sockets: list[Json] = report["sockets"]
    return sorted(sockets, key=lambda entry: -int(entry["tx_bytes"]))
