# SPDX-License-Identifier: Apache-2.0
"""Scripts that replace Slurm's commands and print captured output of the real ones (22.05.8, Debian 12).

In the captures an administrator set the nodes n3 and n4 down and drained. The test selects the nodes that are up. The
scripts submit no job.
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
    """Puts the commands first on PATH. Returns the file that records the arguments of sbatch, one call per line."""
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
