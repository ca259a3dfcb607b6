# SPDX-License-Identifier: Apache-2.0
"""Starts ReFrame, and reports an error if it runs no test. ``reframe`` of ``env.sh`` is this program.

After an import error in a check, on an unknown host or with a missing file, ReFrame prints "Ran 0/0 test case(s)" and
ends with exit status 0.
"""

import getpass
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricbench.launch.case import Case
from fabricbench.launch.injection import LEVELS
from fabricbench.launch.session import SCALES
from fabricbench.processes.leftovers import ask_to_end_with_parent, die_with_parent
from fabricbench.processes.terminal import ignore_python_settings
from fabricbench.site.settings import REPOSITORY

NOTHING_RAN = 2
_PYTHON = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"}
"""Variables for UTF-8. Without them ReFrame uses the encoding of the user's shell, which may be ASCII."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SKIPPED_FILE = re.compile(r"WARNING: (skipping test file .*)")
_RAN = re.compile(r"Ran (\d+)/(\d+) test case")
_CASE = re.compile(r"^- \S.* /(?P<hash>[0-9a-f]{8}) @(?P<system>[\w-]+):(?P<fabric>[\w-]+)\+(?P<stack>[\w.-]+)$")
_CLASS = re.compile(r"^- (\w+)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a session of ReFrame. ``problem``: what it omitted without an error; empty if nothing."""

    status: int
    problem: str
    lines: tuple[str, ...]


def command() -> list[str]:
    """The command of ReFrame itself."""
    return [sys.executable, "-P", "-m", "fabricbench.runner.reframe_program"]


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
    show: Callable[[str], object] = lambda line: None,
    within: Sequence[str] = (),
) -> Outcome:
    """Runs ReFrame and calls ``show`` for every line that it prints.

    ``within`` is a command that runs ReFrame's command, such as salloc; it receives SIGTERM when this process dies.
    """
    process = subprocess.Popen(
        [*within, *command(), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **_PYTHON, **_user(), **(environment or {})},
        preexec_fn=ask_to_end_with_parent if within else die_with_parent,
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        show(line)
        lines.append(_COLOUR.sub("", line.rstrip("\n")))
    status = process.wait()
    return Outcome(status, problem(lines, arguments), tuple(lines))


def problem(lines: Sequence[str], arguments: Sequence[str]) -> str:
    """What ReFrame omitted without an error: a file of checks, or all cases; empty if nothing."""
    for at, line in enumerate(lines):
        if skipped := _SKIPPED_FILE.search(line):
            return " ".join([skipped.group(1), *(more.strip("| ") for more in lines[at + 1 : at + 3])])
    runs = {"-r", "--run", "--dry-run"} & set(arguments)
    for line in lines if runs else ():
        if (ran := _RAN.search(line)) and ran.group(2) == "0":
            return "no test case was run: no check, system, fabric or stack matches the options"
    return ""


def _user() -> dict[str, str]:
    """Variables with a user name, for a user without one; ReFrame needs a name."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        return {"LOGNAME": f"uid{os.geteuid()}"}
    return {}


def cases(lines: Sequence[str]) -> list[Case]:
    """The test cases in the output of ``reframe --list=C``, without their fixtures."""
    result = []
    for line in lines:
        if (case := _CASE.match(line)) and (name := _CLASS.match(line)):
            result.append(Case(f"{name.group(1)}_{case['hash']}", case["fabric"], case["stack"]))
    return sorted(result)


def settings_environment(
    files: Sequence[Path], system: str, injected: Sequence[str] = (), scales: Sequence[str] = ()
) -> dict[str, str]:
    """The variables that make ReFrame use these settings, and define checks at these levels of delays and scales.

    Without settings ReFrame's launcher is ``local``.
    """
    paths = ":".join(str(file) for file in files)
    return {"RFM_CONFIG_FILES": paths, "RFM_SYSTEM": system, LEVELS: " ".join(injected), SCALES: " ".join(scales)}


def main() -> int:
    """The program ``reframe``, with ReFrame's arguments, output and exit status; 2 if it runs no test."""
    ignore_python_settings()
    arguments = sys.argv[1:]
    colour = {"RFM_COLORIZE": "y"} if sys.stdout.isatty() else {}

    def show(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    outcome = run(arguments, colour, show)
    if outcome.status == 0 and outcome.problem:
        print(f"fabricbench: {outcome.problem}", file=sys.stderr)
        return NOTHING_RAN
    return outcome.status


def checks_directory() -> Path:
    """The directory of the project's checks."""
    return REPOSITORY / "reframe_checks"


if __name__ == "__main__":
    sys.exit(main())
