# SPDX-License-Identifier: Apache-2.0
"""Runs commands by the launch wrapper, and reads its files."""

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
    found: Json = json.loads(path.read_text("utf-8"))
    return found


def finish(process: Process) -> tuple[int, str]:
    """The exit code and the standard error of a process after its end."""
    _, complaint = process.communicate(timeout=60)
    return process.returncode, complaint
