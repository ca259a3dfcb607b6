# SPDX-License-Identifier: Apache-2.0
"""Runs commands with the launch wrapper and reads its files."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Process = subprocess.Popen[str]
Start = Callable[..., Process]

# Leaves its session and process group, ignores SIGTERM, writes its pid to a file, and sleeps.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.getpgid(0) != os.getpid():
    os.setsid()
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(300)
"""


def read(path: Path) -> Json:
    """The contents of a JSON file."""
    content: Json = json.loads(path.read_text("utf-8"))
    return content


def finish(process: Process) -> tuple[int, str]:
    """Waits for the end of a process; returns its exit code and standard error."""
    _, complaint = process.communicate(timeout=60)
    return process.returncode, complaint
