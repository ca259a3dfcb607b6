# SPDX-License-Identifier: Apache-2.0
"""Every tool that has a parser, and what its parser knows."""

import importlib
import pkgutil
from typing import Any

from fabricbench.parsers import tools

TOOLS = tuple(module.name for module in pkgutil.iter_modules(tools.__path__))
"""The names of all tools: those of the modules in ``tools``."""


def parser_of(tool: str) -> Any:
    """The module that parses the output of ``tool``."""
    return importlib.import_module(f"{tools.__name__}.{tool}")


def benchmarks() -> set[str]:
    """Every benchmark that a parser knows."""
    return {name for tool in TOOLS for name in parser_of(tool).BENCHMARKS}
