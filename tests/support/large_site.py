# SPDX-License-Identifier: Apache-2.0
"""A site of many nodes under Slurm on which every program is installed, as far as their files go: nothing of it runs.

The stacks are those of ``site/stacks.py``.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from fabricbench.parsers.tools.osu import PROGRAMS
from support.fake_site import REPOSITORY, FakeSite
from support.processes import clean_environment

NODES, CORES = 1000, 64
MEMORY_BYTES = 256 * 2**30
STACKS = ("mpich", "openmpi")

SETTINGS = """\
from pathlib import Path

from fabricbench.site.settings import configuration, fabric, session, stack

SITE = Path(__file__).resolve().parent
STACKS = {stacks!r}
SESSION = session()
NODES = dict(environs=STACKS, session=SESSION, site=SITE, scheduler="squeue", launcher="srun", nodes={nodes},
             cores={cores}, memory_bytes={memory_bytes}, access=["--partition={partition}"])
site_configuration = configuration(
    system="large",
    descr="many nodes",
    hostnames=[],
    fabrics=[
        fabric("gige", transport="tcp", ports=("eth0",), **NODES),
        fabric("ib", transport="verbs", ports=("mlx5_0:1",), **NODES),
    ],
    stacks=[stack(name, site=SITE, system="large") for name in STACKS],
    session=SESSION,
)
"""


def make(
    root: Path,
    nodes: int = NODES,
    cores: int = CORES,
    memory_bytes: int = MEMORY_BYTES,
    partition: str = "all",
    slurm: Path | None = None,
) -> FakeSite:
    """The site ``large`` under ``root``; ``slurm`` is the configuration of the Slurm that is asked, else none is."""
    home = root / "site/large"
    home.mkdir(parents=True)
    shutil.copy(REPOSITORY / "site/stacks.py", root / "site")
    known = {"nodes": nodes, "cores": cores, "memory_bytes": memory_bytes, "partition": partition}
    home.joinpath("settings.py").write_text(SETTINGS.format(stacks=list(STACKS), **known))
    for name in STACKS:
        _install(root, name)
    for name in ("villin", "lzm", "dppc"):
        _write(root / f"inputs/{name}.tpr", name)
    environment = {
        **clean_environment(),
        "FABRICBENCH_SITES": str(root / "site"),
        "FABRICBENCH_BUILD": str(root / "build"),
        "FABRICBENCH_LOCK": str(root / "lock"),
        "FABRICBENCH_OSU": str(root / "osu"),
        "FABRICBENCH_GROMACS_INPUTS": str(root / "inputs"),
        "SLURM_CONF": str(slurm or root / "no-slurm.conf"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    return FakeSite(root, environment)


def _install(root: Path, name: str) -> None:
    home = root / "build/stacks" / name
    programs = ("launch", "node", "micro", "pair", "is", "cg", "ft")
    for program in (*(f"apps/bin/fabricbench-{word}" for word in programs), "prefix/bin/mpirun"):
        _write(home / program)
    for suite in ("MPI1", "P2P", "RMA", "NBC", "MT"):
        _write(home / f"imb/IMB-{suite}")
    for program in PROGRAMS:
        _write(root / "osu" / name / program, "# OSU MPI Test v7.4\n")
    facts: Mapping[str, object] = {
        "stack": name,
        "source": "nowhere",
        "version": "1.0",
        "prefix": str(home / "prefix"),
        "apps": str(home / "apps"),
        "imb": str(home / "imb/IMB-MPI1"),
        "gromacs": {"program": str(home / "prefix/bin/mpirun"), "version": "2024.1"},
    }
    (home / "stack.json").write_text(json.dumps(facts))


def _write(file: Path, text: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
