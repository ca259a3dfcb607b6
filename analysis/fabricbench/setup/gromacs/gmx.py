# SPDX-License-Identifier: Apache-2.0
"""GROMACS's ``gmx`` on this machine: found or installed, its version, and running it."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.reading import last_lines
from fabricbench.inputs.recipes import LEAST_GROMACS, THREADS
from fabricbench.processes.commands import apt_install, is_root_on_debian
from fabricbench.processes.leftovers import die_with_parent

PROGRAMS = ("gmx", "gmx_mpi")
LEAST_FREE_BYTES = 20_000_000
_LIMIT_SECONDS = 60
_REPORT = re.compile(r"^(?:Fatal error|Error in user input|Inconsistency in user input|Assertion failed|"
                     r"Software inconsistency error|File input/output error|System I/O error):\s*$", re.M)  # fmt: skip
_ERROR = re.compile(r"^ERROR \d+ \[.*?\]:\n(.+?)\n\n", re.M | re.S)
_WARNING = re.compile(r"^WARNING \d+ (?:\[.*?\]):\n(.+?)\n\n", re.M | re.S)
_END = re.compile(r"^(?:For more information|---)", re.M)


@dataclass(frozen=True, slots=True)
class Gromacs:
    """One GROMACS. ``thread_mpi``: it has ranks of its own, whose number must be fixed."""

    program: str
    version: str
    thread_mpi: bool

    @property
    def run_options(self) -> tuple[str, ...]:
        """Options of ``mdrun`` that make a result the same again: one rank, a fixed number of threads."""
        ranks = ("-ntmpi", "1") if self.thread_mpi else ()
        return (*ranks, "-ntomp", str(THREADS), "-nb", "cpu", "-pin", "off", "-reprod")


def find_gromacs(log: Path, say: Callable[[str], None]) -> Gromacs:
    """The first of ``gmx`` and ``gmx_mpi`` on PATH, installed where that is allowed; BadInput where there is none."""
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
    """What ``--version`` says, by name; BadInput where it says no version."""
    try:
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_LIMIT_SECONDS, check=False, env=environment,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"cannot be run: {error}", where=program, expected="GROMACS's gmx") from None
    facts = dict(re.findall(r"^([A-Za-z][\w /]*?):\s+(.+?)\s*$", done.stdout, re.M))
    if "GROMACS version" not in facts:
        tail = " | ".join(line.strip() for line in done.stderr.splitlines() if line.strip())[-300:]
        raise BadInput(f"it does not say its version: {tail}".rstrip(": "), where=program, expected="GROMACS's gmx")
    return facts


def described(program: str) -> Gromacs:
    """What the program says of itself; BadInput where it does not, or is too old, or is in double precision."""
    facts = facts_of(program, _environment())
    version = facts["GROMACS version"]
    year = re.match(r"(\d{4})\b", version)
    if year is None or int(year.group(1)) < LEAST_GROMACS:
        raise BadInput(f"it is version {version}", where=program, expected=f"GROMACS {LEAST_GROMACS} or newer")
    if facts.get("Precision", "mixed") != "mixed":
        raise BadInput("it is in double precision", where=program, expected="mixed precision, which is benchmarked")
    return Gromacs(program, version, facts.get("MPI library") == "thread_mpi")


def run_gmx(gromacs: Gromacs, arguments: Sequence[str], *, directory: Path, log: Path, answer: str, what: str) -> None:
    """Run one command of ``gmx`` in ``directory``, its output appended to ``log``; BadInput with its last lines.

    It ends with this process, however that ends.
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
    """GROMACS's own words for an error in what was logged since ``begin``, in one line; else the last lines."""
    with log.open("rb") as stream:
        stream.seek(begin)
        text = stream.read()[-65536:].decode("utf-8", errors="replace")
    reports = list(_REPORT.finditer(text))
    if not reports:
        return last_lines(log)
    # grompp says first what is wrong, then how often; what it says last is the newest.
    said = _ERROR.findall(text) or _WARNING.findall(text)[-1:]
    return " ".join(" ".join([*said, _END.split(text[reports[-1].end() :], maxsplit=1)[0]]).split())[:600]


def _on_path() -> str | None:
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


def _environment() -> dict[str, str]:
    """Without what changes a run unseen, GROMACS's and OpenMP's variables; where its data are stays.

    Threads that wait sleep: on a machine with other work, threads that spin make a run several times slower.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GMX_", "OMP_", "GOMP_", "KMP_", "FABRICBENCH_"))}
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return kept | root | {"OMP_WAIT_POLICY": "passive"}
