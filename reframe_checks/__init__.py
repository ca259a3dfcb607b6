# SPDX-License-Identifier: Apache-2.0
"""The checks. ReFrame imports this package before each of their files.

A ReFrame that does not know the environment would warn of every file, run nothing and exit with 0. Here it ends with
one line.
"""

import importlib.util
import sys
from pathlib import Path
from typing import NoReturn

from reframe.core.runtime import runtime


def _demand_environment() -> None:
    place = Path(__file__).resolve().parents[1] / "build/env.sh"
    source = f"source {place}" if place.exists() else f"run `make setup` in {place.parents[1]}, then source {place}"
    if importlib.util.find_spec("fabricbench") is None:
        _end(f"{sys.executable} has no package fabricbench", source)
    system = runtime().system
    if not any("fabric" in partition.extras for partition in system.partitions):
        _end(f"the system '{system.name}' of ReFrame's configuration has no fabrics", source)


def _end(problem: str, source: str) -> NoReturn:
    print(f"fabricbench: {problem}; {source}, and start reframe again", file=sys.stderr)
    sys.exit(2)


_demand_environment()
