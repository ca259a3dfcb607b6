# SPDX-License-Identifier: Apache-2.0
"""The checks. ReFrame imports this package before each of its files.

Ends ReFrame with one line and status 2 if the environment is not sourced. Without it ReFrame would warn of every file,
run nothing, and exit with status 0.
"""

import importlib.util
import os
import sys
from pathlib import Path
from typing import NoReturn

from reframe.core.runtime import runtime


def _require_environment() -> None:
    repository = Path(__file__).resolve().parents[1]
    environment = Path(os.environ.get("FABRICBENCH_BUILD") or repository / "build") / "env.sh"
    source = f"source {environment}"
    if not environment.exists():
        source = f"run `make setup` in {repository}, then {source}"
    if importlib.util.find_spec("fabricbench") is None:
        _end(f"{sys.executable} has no package fabricbench", source)
    from fabricbench.site.system import system_in

    system = runtime().system
    if not any(system_in(partition.extras) for partition in system.partitions):
        _end(f"the system '{system.name}' of ReFrame's configuration has no fabrics", source)


def _end(problem: str, source: str) -> NoReturn:
    print(f"fabricbench: {problem}; {source}, and start reframe again", file=sys.stderr)
    sys.exit(2)


_require_environment()
