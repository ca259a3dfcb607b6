# SPDX-License-Identifier: Apache-2.0
"""Slurm's commands as scripts that print what the real ones (22.05.8, Debian 12) printed for a controller whose nodes
n3 and n4 were set down and drained by hand. Which node is up is asked of the test; nothing is ever submitted.
"""

from pathlib import Path

import pytest

PARTITIONS = "gige*|up\nib|up\nclosed|down\n"
NODES = """\
n1|gige|idle|none
n2|gige|mixed|none
n1|closed|idle|none
n3|ib|down*|link flaps, see ticket 12
n3|closed|down*|link flaps, see ticket 12
n4|ib|drained|memtest
n4|closed|drained|memtest
"""
PMI = """\
MPI plugin types are...
\tpmix
\tnone
\tcray_shasta
\tpmi2
specific pmix plugin versions available: pmix_v4
"""
TAKEN = "sbatch: Job 10 to start at 2026-11-22T03:07:19 using 2 processors on nodes n1 in partition gige"


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    partitions: str = PARTITIONS,
    nodes: str = NODES,
    pmi: str = PMI,
    sbatch: str = f"echo '{TAKEN}' >&2",
) -> Path:
    """Put the commands on PATH, before all others; the file that keeps what sbatch was asked, one call a line."""
    calls = folder / "calls"
    for name, text in (("partitions", partitions), ("nodes", nodes), ("pmi", pmi)):
        (folder / name).write_text(text)
    scripts = {
        "sinfo": f'case "$*" in *--Node*) cat {folder}/nodes;; *) cat {folder}/partitions;; esac',
        "srun": f"cat {folder}/pmi",
        # The host lists of the tests are no longer than n[3-4].
        "scontrol": 'echo "$3" | sed "s/n\\[3-4\\]/n3 n4/; s/,/ /g" | tr " " "\\n"',
        "sbatch": f'echo "$*" >> {calls}\n{sbatch}',
    }
    (folder / "bin").mkdir()
    for name, body in scripts.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("SLURM_CONF", raising=False)
    return calls
