# SPDX-License-Identifier: Apache-2.0
"""Captured outputs of IMB-MPI1."""

from pathlib import Path

from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.tools.imb import parse
from support.launches import launch_of

PT2PT = "mpich-tcp-imb-pt2pt-small"

CAPTURES = (
    PT2PT,
    "mpich-tcp-imb-pt2pt-large",
    "mpich-tcp-imb-collectives-small",
    "impi-shm-imb-collectives-small",
    "impi-tcp-imb-collectives-small",
    "lying-impi-tcp-imb-collectives-large",
)

CLOSING = "# All processes entering MPI_Finalize"


def parse_text(tmp_path: Path, text: str | bytes, launch: Launch | None = None) -> Parsed:
    raw = text.encode() if isinstance(text, str) else text
    (tmp_path / "stdout").write_bytes(raw)
    return parse(tmp_path, launch or launch_of(PT2PT))


def synthetic(title: str, ranks: int, columns: str, *rows: str) -> str:
    return "\n".join([f"# Benchmarking {title} ", f"# #processes = {ranks} ", columns, *rows, "", CLOSING, ""])
