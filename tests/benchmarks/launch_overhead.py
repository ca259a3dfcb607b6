# SPDX-License-Identifier: Apache-2.0
"""Measures the time per launch that Fabricbench adds to plain ReFrame.

    PYTHONPATH=tests python -m benchmarks.launch_overhead [--pairs 12] [--launches 20] [--lane mpich@shm]

Both sides run the same program with the same launcher and variables, in alternation. The plain side is a
RunOnlyRegressionTest with one anchored pattern. The Fabricbench side records, wraps, witnesses, parses and attests
each launch, and runs the lane's wire-up once per session. Its time includes the wire-up, divided by the launches.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import typer

from benchmarks.mpi import mpi_lanes
from benchmarks.paired_runs import interleaved, line
from fabricbench.site.lane import Lane
from fabricbench.site.settings import REPOSITORY, settings_file

BARE = """\
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Bare(rfm.RunOnlyRegressionTest):
    valid_systems = ["+fabric"]
    valid_prog_environs = ["+mpi"]
    num_tasks = 2
    executable = {program!r}
    executable_opts = {options!r}
    env_vars = {variables!r}

    @sanity_function
    def ended(self):
        return sn.assert_found(r"^#@end=ok$", self.stdout)
"""

OPTIONS = ["pingpong", "--sizes", "0,1,2,4,8,16,32,64,128,256,512,1024", "--iterations", "500"]


def seconds(lane: Lane, folder: Path, arguments: Sequence[str], launches: int) -> Sequence[float]:
    """Returns the wall time of a ReFrame session in seconds, divided by its launches."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {
            **os.environ,
            "RFM_CONFIG_FILES": str(settings_file("local")),
            "RFM_SYSTEM": f"local:{lane.fabric.name}",
            "FABRICBENCH_CAMPAIGN": f"{directory}/campaign",
        }
        program = str(Path(sys.executable).with_name("reframe"))
        argv = [program, "-c", str(folder), "-p", lane.stack.name, *arguments, f"--repeat={launches}", "-r"]
        argv += ["--exec-policy=serial"]
        start = time.monotonic()
        result = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=600, check=False)
        elapsed = time.monotonic() - start
    if result.returncode:
        sys.exit(result.stdout[-3000:])
    return [elapsed / launches]


def main(pairs: int = 12, launches: int = 20, lane: str = "mpich@shm") -> None:
    ((lane_, installed),) = mpi_lanes("local", [lane])
    variables = {**lane_.variables(), "PATH": f"{installed.prefix}/bin:$PATH"}
    program = f"{installed.apps}/bin/fabricbench-micro"
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "bare.py").write_text(BARE.format(program=program, options=OPTIONS, variables=variables))
        ours = ["-n", "^MicroPingpong.*messages=small"]
        measurements = interleaved(
            lambda: seconds(lane_, REPOSITORY / "reframe_checks", ours, launches),
            lambda: seconds(lane_, Path(directory), [], launches),
            pairs,
        )
    print("| per launch | median | 95 % interval | pairs |\n| --- | --- | --- | --- |")
    print(line("bare ReFrame", [b[0] for _, b in measurements], "s"))
    print(line("Fabricbench", [a[0] for a, _ in measurements], "s"))
    print(line("added", [a[0] - b[0] for a, b in measurements], "s"))


if __name__ == "__main__":
    typer.run(main)
