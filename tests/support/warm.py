# SPDX-License-Identifier: Apache-2.0
"""Runs ReFrame as a fork of a process that has its modules loaded, which saves the time of the imports.

``python -m support.warm SOCKET`` serves until its parent ends. A run has its own process, environment and working
directory, and executes ``fabricbench.runner.reframe_program`` as the real command does. ``warm_client.py`` takes the
place of that command: it passes its arguments on and ends with the status of the run.
"""

import contextlib
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fabricbench.processes.leftovers import die_with_parent
from fabricbench.runner import reframe

CLIENT = Path(__file__).with_name("warm_client.py")
PROGRAM = "fabricbench.runner.reframe_program"
START_SECONDS = 60
LARGEST_REQUEST = 2**20


@contextmanager
def warm_reframe(directory: Path) -> Iterator[None]:
    """Lets ``runner.reframe.run`` fork ReFrame from a loaded process, which starts at first use."""
    address = directory / "warm"
    servers: list[subprocess.Popen[bytes]] = []

    def command() -> list[str]:
        if not servers:
            argv = [sys.executable, "-P", "-m", "support.warm", str(address)]
            environment = {**os.environ, "PYTHONPATH": str(CLIENT.parents[1])}
            servers.append(subprocess.Popen(argv, env=environment, preexec_fn=die_with_parent))
            end = time.monotonic() + START_SECONDS
            while not address.exists():
                assert servers[0].poll() is None, "the loaded ReFrame ended"
                assert time.monotonic() < end, "the loaded ReFrame did not start"
                time.sleep(0.02)
        return [sys.executable, "-I", "-S", str(CLIENT), str(address)]

    with patch.object(reframe, "command", command):
        yield
    for server in servers:
        server.kill()
        server.wait()


def serve(address: str) -> None:
    """Serves each client in a process of its own."""
    importlib.import_module("reframe.frontend.cli")
    for package in ("fabricbench.parsers.tools", "fabricbench.site", "fabricbench.launch", "fabricbench.campaign"):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    importlib.import_module("fabricbench.inputs.cache")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{address}.new")
        listener.listen()
        os.rename(f"{address}.new", address)
        while True:
            client, _ = listener.accept()
            with client:
                if os.fork() == 0:
                    listener.close()
                    _answer(client)


def _answer(client: socket.socket) -> None:
    """Runs ReFrame in a child and sends its exit status; the child ends with its client."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with_parent()
    data, descriptors, _, _ = socket.recv_fds(client, LARGEST_REQUEST, 2)
    while not data.endswith(b"\n"):
        data += client.recv(LARGEST_REQUEST)
    child = os.fork()
    if child == 0:
        client.close()
        _run(json.loads(data), descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    while True:
        result, status = os.waitpid(child, os.WNOHANG)
        if result:
            break
        if select.select([client], [], [], 0.01)[0] and not client.recv(1):
            os.kill(child, signal.SIGKILL)
    with contextlib.suppress(OSError):
        client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _run(request: dict[str, Any], descriptors: list[int]) -> None:
    die_with_parent()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for target, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["reframe", *request["arguments"]]
    status: str | int | None = 0
    try:
        runpy.run_module(PROGRAM, run_name="__main__")
    except SystemExit as ended:
        status = ended.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:  # polars waits for a thread that a fork does not have if the interpreter ends the usual way
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(status or 0))


if __name__ == "__main__":
    serve(sys.argv[1])
