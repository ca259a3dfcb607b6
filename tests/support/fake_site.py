# SPDX-License-Identifier: Apache-2.0
"""A site whose stacks are shell scripts, with the real ReFrame, launch wrapper and witness. Quick, without MPI.

``mpirun`` starts two processes with PMI_RANK set; ``fabricbench-micro`` prints the output of the real one. Files in the
folder of a stack select faults, so that a test can break one lane.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabricbench.site.settings import build_root
from support.command import inside, reframe_inside
from support.processes import clean_environment

REPOSITORY = Path(__file__).resolve().parents[2]

MPIRUN = """\
#!/bin/sh
# mpirun -np N COMMAND...
n=$2; shift 2
stack=$(cd "$(dirname "$0")/../.." && pwd)
if [ -e "$stack/break-pmi" ]; then n=1; fi
case " $* " in *" wireup "*) [ ! -e "$stack/break-wireup" ] || { echo "no slots free" >&2; exit 1; } ;; esac
i=0; pids=
while [ "$i" -lt "$n" ]; do
    PMI_RANK=$i PMI_SIZE=$n "$@" & pids="$pids $!"
    i=$((i + 1))
done
status=0
for pid in $pids; do wait "$pid" || status=$?; done
exit $status
"""

MICRO = """\
#!/bin/sh
# fabricbench-micro BENCHMARK --sizes LIST --iterations N
stack=$(cd "$(dirname "$0")/../.." && pwd)
[ "$PMI_RANK" = 0 ] || exit 0
echo "#@benchmark=$1"
echo "#@ranks=$PMI_SIZE"
echo "#@mpi_library=Fake MPI 1.0"
if [ "$1" = wireup ]; then
    sleep "$(cat "$stack/wireup-seconds" 2>/dev/null || echo 0)"
    echo "#@end=ok"
    [ ! -e "$stack/hang-wireup" ] || { rm "$stack/hang-wireup"; sleep 600; }
    exit 0
fi
sleep "$(cat "$stack/seconds" 2>/dev/null || echo 0.02)"
[ ! -e "$stack/break-hang" ] || sleep 600
[ ! -e "$stack/break-exit" ] || { echo "rank 0: wrong byte at offset 7" >&2; exit 1; }
echo "benchmark,case,msg_size_bytes,rank,sample,value,metric"
for size in $(echo "$3" | tr , ' '); do
    [ ! -e "$stack/break-row" ] || [ "$size" != 8 ] || continue
    echo "#@iterations.$size=2"
    echo "pingpong,,$size,0,0,$(cat "$stack/latency" 2>/dev/null || echo 1.5),latency_us"
    echo "pingpong,,$size,0,1,2.5,latency_us"
done
echo "#@payload_bytes=1000"
echo "#@payload_messages=10"
echo "#@verified=yes"
echo "#@end=ok"
hangs=$(cat "$stack/hang-at-end" 2>/dev/null || echo 0)
[ "$hangs" -eq 0 ] || { echo $((hangs - 1)) > "$stack/hang-at-end"; sleep 600; }
"""

STACKS = """\
from fabricbench.site.stacks import Stack

STACKS = {name: Stack(name=name, transports={"shm": {"FAKE": "1"}, "tcp": {"FAKE": "2"}}) for name in ("one", "two")}
"""

SETTINGS = """\
from fabricbench.launch.configuration import reframe_configuration
from fabricbench.site.fabric import Fabric, Nodes
from fabricbench.site.system import System

SYSTEM = System(
    name="fake",
    file=__file__,
    description="stacks that are shell scripts",
    hostnames=[".*"],
    fabrics=[Fabric(name="shm", transport="shm", stacks=["one", "two"])],
    stacks=["one", "two"],
)
site_configuration = reframe_configuration(SYSTEM)
"""

REQUIREMENTS = """\
schema: 1
requirements:
  - id: one-latency
    text: latency at 8 B is at most 5 us
    select: {tool: micro, benchmark: pingpong, metric: latency, fabric: shm, msg_size_bytes: 8}
    at_most: 5 us
"""


@dataclass(frozen=True, slots=True)
class FakeSite:
    """The folders of the site; with ``environment`` every command uses it."""

    root: Path
    environment: dict[str, str]

    @property
    def settings(self) -> Path:
        return self.root / "site/fake/settings.py"

    def stack(self, name: str) -> Path:
        """Returns the folder of a stack, which may hold ``break-…`` files."""
        return self.root / "build/stacks" / name

    def change_fabric(self, fields: str) -> None:
        """Adds fields, as in ``nodes=Nodes(count=4)``, to the fabric ``shm``."""
        text, end = self.settings.read_text(), 'stacks=["one", "two"])'
        assert end in text
        self.settings.write_text(text.replace(end, f"{end[:-1]}, {fields})"))

    def reframe(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Runs ``reframe`` as in a sourced environment."""
        return reframe_inside(*arguments, environment={**self.environment, **extra})

    def fabricbench(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Runs ``fabricbench``."""
        return self.call([sys.executable, "-m", "fabricbench.cli", *arguments], **extra)

    def inside(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs ``fabricbench`` within this process, which is quicker than to start it."""
        with chdir(REPOSITORY):
            return inside(*arguments, environment=self.environment)

    def call(self, argv: list[str], **extra: str) -> subprocess.CompletedProcess[str]:
        """Runs a command in the environment of this site."""
        return subprocess.run(
            argv,
            env={**self.environment, **extra},
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def make(root: Path) -> FakeSite:
    """Makes a fake site in ``root``. Skips the test if no real launch wrapper and witness are built."""
    apps = sorted((build_root() / "stacks").glob("*/apps/lib/libfabricbench_ucx_close.so"))
    if not apps:
        pytest.skip("no stack is set up: run `make setup`")
    real = apps[0].parents[1]
    (root / "site/fake").mkdir(parents=True)
    (root / "site/stacks.py").write_text(STACKS)
    (root / "site/fake/settings.py").write_text(SETTINGS)
    (root / "site/fake/requirements.yaml").write_text(REQUIREMENTS)
    for name in ("one", "two"):
        _stack(root / "build/stacks" / name, name, real)
    environment = {
        **clean_environment(),
        "RFM_CONFIG_FILES": str(root / "site/fake/settings.py"),
        "RFM_SYSTEM": "fake",
        "FABRICBENCH_SITES": str(root / "site"),
        "FABRICBENCH_BUILD": str(root / "build"),
        "FABRICBENCH_LOCK": str(root / "lock"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    return FakeSite(root, environment)


def _stack(home: Path, name: str, real: Path) -> None:
    for folder in ("prefix/bin", "apps/bin", "apps/lib"):
        (home / folder).mkdir(parents=True)
    for program in ("bin/fabricbench-launch", "bin/fabricbench-node"):
        shutil.copy(real / program, home / "apps/bin")
    for library in (
        "lib/libfabricbench_witness.so",
        "lib/libfabricbench_ucx_close.so",
        "lib/libfabricbench_profiler.so",
    ):
        shutil.copy(real / library, home / "apps/lib")
    for path, text in (("prefix/bin/mpirun", MPIRUN), ("apps/bin/fabricbench-micro", MICRO)):
        (home / path).write_text(textwrap.dedent(text))
        (home / path).chmod(0o755)
    facts = {
        "stack": name,
        "source": "fake",
        "version": "Fake MPI 1.0",
        "prefix": str(home / "prefix"),
        "apps": str(home / "apps"),
    }
    (home / "stack.json").write_text(json.dumps(facts))
