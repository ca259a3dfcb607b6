# SPDX-License-Identifier: Apache-2.0
"""Tests whether a lane works: two ranks, or a server and a client, start on it, communicate and end."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.parsers.tools.micro.description import WIREUP
from fabricbench.setup.modules import module_environment
from fabricbench.site.stacks import Installed

RANKS = 2
LIMIT_SECONDS = 30
GRACE_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Probe:
    """The outcome of a probe: ``problem`` is empty if the lane works; ``library`` is the MPI library's own name."""

    problem: str
    library: str


def lane_environment(installed: Installed, variables: Mapping[str, str]) -> dict[str, str]:
    """The environment for a launcher of this stack.

    It consists of that of this process, what the stack's modules change in it, the lane's variables and the search
    paths. Raises BadInput if the modules cannot be loaded.
    """
    environment = {**os.environ, **module_environment(installed.modules), **variables}
    environment["PATH"] = f"{installed.prefix}/bin:{environment['PATH']}"
    if installed.library_path:
        inherited = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = ":".join((*installed.library_path, *([inherited] if inherited else [])))
    return environment


def probe(
    installed: Installed,
    variables: Mapping[str, str],
    handshake: Sequence[str] = (),
    launcher: Sequence[str] = (),
    slowdown: float = 1.0,
) -> Probe:
    """Starts two ranks on a lane, or the two processes of its ``handshake``, with the lane's ``variables``.

    ``launcher`` replaces the stack's own launcher, and starts the handshake on nodes. ``slowdown`` multiplies the time
    limit.
    """
    if handshake:
        argv = [*launcher, f"{installed.apps}/bin/fabricbench-client-server", *handshake]
        return _started(installed, variables, argv, slowdown * LIMIT_SECONDS)
    wireup = (f"{installed.apps}/bin/fabricbench-micro", WIREUP)
    argv = [*launcher, *wireup] if launcher else _on_two_ranks(installed, *wireup)
    return _started(installed, variables, argv, slowdown * LIMIT_SECONDS)


def probe_imb_mt(installed: Installed, variables: Mapping[str, str]) -> str:
    """Returns why IMB-MT does not run on the lane, for example for a missing library or without MPI_THREAD_MULTIPLE.

    Empty if it runs.
    """
    program = str(Path(str(installed.imb)).with_name("IMB-MT"))
    once = ("BarrierMT", "-thread_level", "multiple", "-repeat", "1", "-warmup", "0")
    argv = _on_two_ranks(installed, program, *once)
    return _started(installed, {**variables, "OMP_NUM_THREADS": "1"}, argv).problem


def _on_two_ranks(installed: Installed, *command: str) -> list[str]:
    return [f"{installed.prefix}/bin/mpirun", "-np", str(RANKS), *command]


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a process group by SIGTERM, so that srun releases its nodes, and after a grace period by SIGKILL."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.communicate(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _started(
    installed: Installed, variables: Mapping[str, str], argv: Sequence[str], limit_seconds: float = LIMIT_SECONDS
) -> Probe:
    try:
        environment = {**lane_environment(installed, variables), "FABRICBENCH_EXPECT_RANKS": str(RANKS)}
    except BadInput as error:
        return Probe(str(error), "")
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return Probe(f"{argv[0]}: {error.strerror}", "")
    try:
        output, _ = process.communicate(timeout=limit_seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return Probe(f"two ranks did not start and end within {limit_seconds:g} s", "")
    if process.returncode != 0:
        tail = " | ".join(line.strip() for line in output.splitlines() if line.strip())[-300:]
        return Probe(f"exit status {process.returncode}: {tail}", "")
    library = re.search(r"^#@mpi_library=(.*)$", output, re.MULTILINE)
    return Probe("", library.group(1).strip() if library else installed.version)
