# SPDX-License-Identifier: Apache-2.0
"""A site of many nodes under Slurm, with the stacks of ``site/stacks.py``. Its programs are empty files."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from fabricbench.parsers.osu_programs import PROGRAMS
from support.fake_site import REPOSITORY, FakeSite
from support.processes import clean_environment

NODES, CORES = 1000, 64
MEMORY_BYTES = 256 * 2**30
STACKS = ("mpich", "openmpi")

SETTINGS = """\
from fabricbench.launch.configuration import reframe_configuration
from fabricbench.site.fabric import Fabric, Nodes, Scheduler
from fabricbench.site.system import System

STACKS = {stacks!r}
SLURM = Scheduler(name="squeue", launcher="srun", access=["--partition={partition}"])
NODES = Nodes(count={nodes}, cores={cores}, memory_bytes={memory_bytes})
SYSTEM = System(
    name="large",
    file=__file__,
    description="many nodes",
    fabrics=[
        Fabric(name="gige", transport="tcp", stacks=STACKS, scheduler=SLURM, nodes=NODES, ports=["eth0"]),
        Fabric(name="ib", transport="verbs", stacks=STACKS, scheduler=SLURM, nodes=NODES, ports=["mlx5_0:1"]),
    ],
    stacks=STACKS,
)
site_configuration = reframe_configuration(SYSTEM)
"""


def make(
    root: Path,
    nodes: int = NODES,
    cores: int = CORES,
    memory_bytes: int = MEMORY_BYTES,
    partition: str = "all",
    slurm: Path | None = None,
) -> FakeSite:
    """Makes the site ``large`` in ``root``. ``slurm``: the configuration file of its Slurm, if it has one."""
    home = root / "site/large"
    home.mkdir(parents=True)
    shutil.copy(REPOSITORY / "site/stacks.py", root / "site")
    values = {"nodes": nodes, "cores": cores, "memory_bytes": memory_bytes, "partition": partition}
    home.joinpath("settings.py").write_text(SETTINGS.format(stacks=list(STACKS), **values))
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
    programs = ("launch", "node", "micro", "client-server", "is", "cg", "ft")
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
