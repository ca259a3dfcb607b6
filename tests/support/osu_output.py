# SPDX-License-Identifier: Apache-2.0
"""Outputs of the OSU micro-benchmarks: captures and synthetic ones."""

from pathlib import Path

from fabricbench.launch.facts import Launch
from fabricbench.parsers.osu_table import TITLES
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.tools.osu import parse
from support.launches import LAUNCHES

CAPTURES = sorted(path.name for path in LAUNCHES.glob("*-osu*") if not path.name.startswith("failed-"))
LATENCY = "mpich-tcp-osu74-latency-small"


def parse_text(tmp_path: Path, text: str | bytes, launch: Launch) -> Parsed:
    (tmp_path / "stdout").write_bytes(text.encode() if isinstance(text, str) else text)
    return parse(tmp_path, launch)


def synthetic(program: str, head: str, *rows: str, version: str = "5.7") -> str:
    return "\n".join(["", f"# {TITLES[program]} v{version}", head, *rows, ""])
