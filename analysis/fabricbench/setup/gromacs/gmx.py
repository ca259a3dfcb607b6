# SPDX-License-Identifier: Apache-2.0
"""Finds or installs the ``gmx`` of GROMACS, reads its version, and runs its commands."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.reading import last_lines
from fabricbench.inputs.systems import LEAST_GROMACS
from fabricbench.processes.external_programs import apt_install, is_root_on_debian
from fabricbench.processes.leftovers import die_with_parent
from fabricbench.setup.record import Say

PROGRAMS = ("gmx", "gmx_mpi")
THREADS = 2
"""OpenMP threads of every run, on any machine: the digits of a run with ``-reprod`` depend on their number."""
LEAST_FREE_BYTES = 20_000_000
_LIMIT_SECONDS = 60
_REPORT = re.compile(r"^(?:Fatal error|Error in user input|Inconsistency in user input|Assertion failed|"
                     r"Software inconsistency error|File input/output error|System I/O error):\s*$", re.M)  # fmt: skip
_ERROR = re.compile(r"^ERROR \d+ \[.*?\]:\n(.+?)\n\n", re.M | re.S)
_WARNING = re.compile(r"^WARNING \d+ (?:\[.*?\]):\n(.+?)\n\n", re.M | re.S)
_END = re.compile(r"^(?:For more information|---)", re.M)


@dataclass(frozen=True, slots=True)
class Gromacs:
    """A GROMACS program. ``thread_mpi``: it uses GROMACS's built-in MPI, whose number of ranks must be set."""

    program: str
    version: str
    thread_mpi: bool

    @property
    def run_options(self) -> tuple[str, ...]:
        """Options of ``mdrun`` that make a result reproducible: one rank and a fixed number of threads."""
        ranks = ("-ntmpi", "1") if self.thread_mpi else ()
        return (*ranks, "-ntomp", str(THREADS), "-nb", "cpu", "-pin", "off", "-reprod")


def find_gromacs(log: Path, say: Say) -> Gromacs:
    """The first of ``gmx`` and ``gmx_mpi`` on PATH; root on Debian installs it. BadInput if there is none."""
    program = _on_path()
    if program is None and is_root_on_debian():
        say("installing Debian's gromacs")
        apt_install(["gromacs"], log)
        program = _on_path()
    if program is None:
        raise BadInput(
            f"no {' and no '.join(PROGRAMS)} on PATH",
            expected=f"GROMACS {LEAST_GROMACS} or newer",
            hint="install it, on Debian: apt-get install gromacs",
        )
    return described(program)


def facts_of(program: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The fields of ``--version`` by name; raises BadInput if there is no version among them."""
    try:
        process = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_LIMIT_SECONDS, check=False, env=environment,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"cannot be run: {error}", where=program, expected="GROMACS's gmx") from None
    facts = dict(re.findall(r"^([A-Za-z][\w /]*?):\s+(.+?)\s*$", process.stdout, re.M))
    if "GROMACS version" not in facts:
        tail = " | ".join(line.strip() for line in process.stderr.splitlines() if line.strip())[-300:]
        raise BadInput(f"its --version prints no version: {tail}".rstrip(": "), where=program, expected="GROMACS's gmx")
    return facts


def described(program: str) -> Gromacs:
    """The program with its version; raises BadInput if it prints none, is too old, or works in double precision."""
    facts = facts_of(program, _environment())
    version = facts["GROMACS version"]
    year = re.match(r"(\d{4})\b", version)
    if year is None or int(year.group(1)) < LEAST_GROMACS:
        raise BadInput(f"it is version {version}", where=program, expected=f"GROMACS {LEAST_GROMACS} or newer")
    if facts.get("Precision", "mixed") != "mixed":
        raise BadInput("it has double precision", where=program, expected="mixed precision")
    return Gromacs(program, version, facts.get("MPI library") == "thread_mpi")


def run_gmx(gromacs: Gromacs, arguments: Sequence[str], *, directory: Path, log: Path, answer: str, what: str) -> None:
    """Runs one command of ``gmx`` in ``directory`` and appends its output to ``log``.

    Raises BadInput with GROMACS's error message if it fails. The command is killed when this process ends.
    """
    argv = [gromacs.program, "-nobackup", "-quiet", *arguments]
    try:
        with log.open("ab") as stream:
            stream.write(f"$ {' '.join(argv)}\n".encode())
            stream.flush()
            begin = stream.tell()
            process = subprocess.Popen(
                argv, cwd=directory, env=_environment(), stdin=subprocess.PIPE, stdout=stream,
                stderr=subprocess.STDOUT, preexec_fn=die_with_parent,
            )  # fmt: skip
            try:
                process.communicate(answer.encode())
            except BaseException:
                process.kill()
                process.wait()
                raise
    except OSError as error:
        raise BadInput(f"{what}: {error.strerror}", where=str(error.filename or log)) from None
    if process.returncode:
        free = shutil.disk_usage(directory).free
        if free < LEAST_FREE_BYTES:
            raise BadInput(
                f"{what}: the disk is full ({free // 10**6} MB free)",
                where=str(directory),
                hint="make room, then run the same command again",
            )
        raise BadInput(f"{what} failed: {_reason(log, begin)}", where=str(log))


def _reason(log: Path, begin: int) -> str:
    """GROMACS's error message in the log from byte ``begin`` on, in one line; without one the last lines."""
    with log.open("rb") as stream:
        stream.seek(begin)
        text = stream.read()[-65536:].decode("utf-8", errors="replace")
    reports = list(_REPORT.finditer(text))
    if not reports:
        return last_lines(log)
    # grompp prints each error or warning first and their number at the end.
    messages = _ERROR.findall(text) or _WARNING.findall(text)[-1:]
    return " ".join(" ".join([*messages, _END.split(text[reports[-1].end() :], maxsplit=1)[0]]).split())[:600]


def _on_path() -> str | None:
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


def _environment() -> dict[str, str]:
    """The environment without variables of GROMACS and OpenMP that change a run; ``GMXLIB`` and the like stay.

    Waiting threads sleep: beside other work, spinning threads make a run several times slower.
    """
    variables = {
        k: v for k, v in os.environ.items() if not k.startswith(("GMX_", "OMP_", "GOMP_", "KMP_", "FABRICBENCH_"))
    }
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return variables | root | {"OMP_WAIT_POLICY": "passive"}
