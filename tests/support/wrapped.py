# SPDX-License-Identifier: Apache-2.0
"""Commands under the launch wrapper, and what it wrote about them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Process = subprocess.Popen[str]
Start = Callable[..., Process]

# Leaves its session and group (a group's leader cannot), ignores TERM, says that it is there, and stays.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.getpgid(0) != os.getpid():
    os.setsid()
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(300)
"""


def read(path: Path) -> Json:
    """A JSON file."""
    found: Json = json.loads(path.read_text("utf-8"))
    return found


def finish(process: Process) -> tuple[int, str]:
    """Its exit code and its standard error."""
    _, complaint = process.communicate(timeout=60)
    return process.returncode, complaint
