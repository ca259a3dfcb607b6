# SPDX-License-Identifier: Apache-2.0
"""Finds the parser of each tool.

Each module in ``parsers/tools`` is the parser of the tool of its name, and must have the names of ``Parser``. A module
whose name begins with an underscore is a helper of parsers and no tool.
"""

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Protocol, runtime_checkable

from fabricbench.launch.facts import Launch
from fabricbench.parsers import tools
from fabricbench.parsers.output import Parsed, TimedCalls
from fabricbench.parsers.quantities import Mean, Means, Quantity


@runtime_checkable
class Parser(Protocol):
    """The names that the module of every tool has. ``BENCHMARKS``: the benchmarks that it can read."""

    BENCHMARKS: Sequence[str]

    def parse(self, directory: Path, launch: Launch) -> Parsed:
        """Returns the rows and the payload of the launch in ``directory``; raises Unreadable if the output is wrong."""
        ...


@runtime_checkable
class ReadsFiles(Protocol):
    """A parser that reads other files of a launch directory than ``stdout``. ``FILES``: the names of all of them."""

    FILES: Sequence[str]


@runtime_checkable
class TimesCalls(Protocol):
    """A parser of an application that times its communication. ``TIMED_CALLS``: the rows that a profile must match."""

    TIMED_CALLS: Sequence[TimedCalls]


@runtime_checkable
class ExplainsFailure(Protocol):
    """A parser that finds the tool's own reason for a failure."""

    def why_failed(self, directory: Path) -> str:
        """Returns the reason in one line; empty if there is none."""
        ...


@runtime_checkable
class ExplainsRefusal(Protocol):
    """A parser that knows when a tool refuses to run a launch, which is a skip and no failure."""

    def why_refused(self, directory: Path) -> str | None:
        """Returns the reason; None if the tool did not refuse the launch."""
        ...


@runtime_checkable
class SharesQuantities(Protocol):
    """A parser whose tool measures quantities that other tools measure too. ``MEANS``: how."""

    MEANS: Means


TOOLS = tuple(module.name for module in pkgutil.iter_modules(tools.__path__) if not module.name.startswith("_"))
"""The names of all tools."""

DEFAULT_FILES = ("stdout",)


def parser_of(tool: str) -> Parser:
    """The module that parses the output of ``tool``; raises TypeError if it lacks ``parse`` or ``BENCHMARKS``."""
    module = importlib.import_module(f"{tools.__name__}.{tool}")
    if not isinstance(module, Parser):
        raise TypeError(
            f"{module.__name__}: a module in parsers/tools must have parse and BENCHMARKS; "
            "begin the name of a helper module with an underscore"
        )
    return module


def files_of(tool: str) -> tuple[str, ...]:
    """The names of the files in a launch directory that the parser of ``tool`` reads."""
    parser = parser_of(tool)
    return tuple(parser.FILES) if isinstance(parser, ReadsFiles) else DEFAULT_FILES


def timed_calls_of(tool: str) -> tuple[TimedCalls, ...]:
    """Returns the rows of ``tool`` that contain the time of MPI calls; empty if its parser declares none."""
    parser = parser_of(tool)
    return tuple(parser.TIMED_CALLS) if isinstance(parser, TimesCalls) else ()


def why_failed(tool: str, directory: Path) -> str:
    """The reason that ``tool`` gives for its failure, in one line; empty if its parser finds none."""
    parser = parser_of(tool)
    return parser.why_failed(directory) if isinstance(parser, ExplainsFailure) else ""


def why_refused(tool: str, directory: Path) -> str | None:
    """The reason for which ``tool`` refuses to run the launch; None if it does not."""
    parser = parser_of(tool)
    return parser.why_refused(directory) if isinstance(parser, ExplainsRefusal) else None


@cache
def means(quantity: Quantity) -> tuple[Mean, ...]:
    """The metrics by which the tools measure ``quantity``, in order of tool."""
    sharing = ((tool, parser_of(tool)) for tool in TOOLS)
    return tuple(
        Mean(tool, *parser.MEANS[quantity])
        for tool, parser in sharing
        if isinstance(parser, SharesQuantities) and quantity in parser.MEANS
    )


@cache
def half_round_trips() -> frozenset[tuple[str, str]]:
    """Tool and benchmark of every ping-pong, in MPI and below it."""
    return frozenset(one[:2] for one in (*means("half_round_trip"), *means("half_round_trip_below_mpi")))


def benchmarks() -> set[str]:
    """Every benchmark that a parser can read."""
    return {name for tool in TOOLS for name in parser_of(tool).BENCHMARKS}
