# SPDX-License-Identifier: Apache-2.0
"""Single steps of a GROMACS input: each takes a directory that holds one state to a directory that holds the next.

A step works in ``NN-NAME.part`` and is renamed to ``NN-NAME`` when it is done, so that it is whole or absent; a run
that was killed goes on from its last checkpoint.
"""

import json
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.inputs.checks import Series
from fabricbench.inputs.recipes import PARTS, Gmx, Make, Run, Step, System
from fabricbench.setup.gromacs.gmx import Gromacs, run_gmx

Say = Callable[[str], None]

STATE = ("conf.gro", "topol.top", "state.cpt")
"""What one step hands to the next, with the topologies that ``topol.top`` includes."""

_DONE = "parts-done"
_NEVER_MINUTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """A directory in which steps are done, for one system, with one GROMACS."""

    home: Path
    system: System
    gromacs: Gromacs
    sources: Mapping[str, Path]
    say: Say

    def log(self, step: str) -> Path:
        """Output of a step's commands, kept."""
        (self.home / "logs").mkdir(parents=True, exist_ok=True)
        return self.home / "logs" / f"{step}.log"


def do_step(
    place: Place, step: Step, directory: Path, before: Path | None, extra: Mapping[str, str] | None = None
) -> None:
    """Do one step in ``directory`` from what ``before`` holds; ``extra`` are files that it needs besides, by name."""
    part = directory.with_name(f"{directory.name}.part")
    going_on = isinstance(step, Run) and (part / _DONE).exists()
    place.say(f"{place.system.name}: {step.name}" + (", from its checkpoint" if going_on else ""))
    begin = time.monotonic()
    if going_on and isinstance(step, Run):
        try:
            _run(place, step, part)
        except (BadInput, ValueError):
            place.say(f"{place.system.name}: {step.name}, from the start: its checkpoint cannot be used")
            going_on = False
    if not going_on:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        if before is not None:
            _hand_over(before, part)
        for name, content in (extra or {}).items():
            (part / name).write_text(content)
        _work(place, step, part)
    seconds = seconds_of(place.home)
    write_json(place.home / "seconds.json", seconds | {step.name: round(time.monotonic() - begin, 1)})
    part.rename(directory)


def prepare_run(place: Place, step: Run, part: Path, output: str) -> None:
    """``grompp``: the run input ``output`` from the state in ``part`` and the step's settings."""
    state = ("-t", "state.cpt") if (part / "state.cpt").exists() else ()
    files = ("-f", f"{step.settings}.mdp", "-c", "conf.gro", "-p", "topol.top", *state, "-o", output)
    warnings = place.system.warnings + step.warnings
    _gmx(place, step.name, ("grompp", *files, "-maxwarn", str(warnings)), part)


def energies(place: Place, directory: Path, *terms: str) -> Series:
    """Terms of a run's energies over time, in the order asked for."""
    columns = []
    for term in terms:
        words = ("energy", "-f", "run.edr", "-o", "term.xvg", "-xvg", "none", "-dp")
        _gmx(place, "measure", words, directory, f"{term}\n\n")
        columns.append(np.loadtxt(directory / "term.xvg", ndmin=2))
    return np.column_stack([columns[0][:, 0], *(column[:, 1] for column in columns)])


def seconds_of(home: Path) -> dict[str, float]:
    """What each finished step took."""
    try:
        return {name: float(value) for name, value in json.loads((home / "seconds.json").read_text()).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _work(place: Place, step: Step, part: Path) -> None:
    for file in place.system.folder.glob("*.mdp"):
        shutil.copy(file, part)
    if isinstance(step, Make):
        step.function(part, place.sources)
    elif isinstance(step, Gmx):
        for command in step.commands:
            _gmx(place, step.name, [_filled(word, place.sources) for word in command], part, step.answer)
    else:
        if not step.continued:
            (part / "state.cpt").unlink(missing_ok=True)
        prepare_run(place, step, part, "run.tpr")
        _run(place, step, part)


def _run(place: Place, step: Run, part: Path) -> None:
    """``mdrun``, in parts of fixed length; after it ``conf.gro`` and ``state.cpt`` are what it came to.

    Each part ends with a checkpoint and the next goes on from it, whether or not anybody killed the run: a checkpoint
    in between changes the last digits, so one at a time of the clock would make every build another.
    """
    options = ("-deffnm", "run", "-cpt", str(_NEVER_MINUTES), *place.gromacs.run_options)
    ends = parts((part / f"{step.settings}.mdp").read_text())
    done = part / _DONE
    first = int(done.read_text()) if done.exists() else 0
    for k, end in enumerate(ends[first:], start=first + 1):
        tpr = "run.tpr"
        if len(ends) > 1:
            tpr = "part.tpr"
            _gmx(place, step.name, ("convert-tpr", "-s", "run.tpr", "-nsteps", str(end), "-o", tpr), part)
        resume = ("-cpi", "run.cpt") if k > 1 else ()
        _gmx(place, step.name, ("mdrun", "-s", tpr, *resume, *options), part)
        done.write_text(str(k))
    if not (part / "run.gro").exists():
        raise BadInput("mdrun came back without its result", where=str(place.log(step.name)))
    shutil.copy(part / "run.gro", part / "conf.gro")
    if (part / "run.cpt").exists():
        shutil.copy(part / "run.cpt", part / "state.cpt")


def parts(settings: str) -> list[int]:
    """The steps at which the parts of a run end, by its ``.mdp`` file; one part where it only minimises."""
    values = dict(re.findall(r"^\s*(\w+)\s*=\s*(\S+)", settings, re.M))
    steps = int(values["nsteps"])
    return [steps] if values.get("integrator") == "steep" else [steps * k // PARTS for k in range(1, PARTS + 1)]


def _gmx(place: Place, step: str, words: Sequence[str], directory: Path, answer: str = "") -> None:
    what = f"{place.system.name}, {step}: gmx {words[0]}"
    run_gmx(place.gromacs, words, directory=directory, log=place.log(step), answer=answer, what=what)


def _filled(word: str, sources: Mapping[str, Path]) -> str:
    return str(sources[word[1:-1]]) if word.startswith("{") else word


def _hand_over(before: Path, part: Path) -> None:
    for file in (*(before / name for name in STATE), *before.glob("*.itp")):
        if file.exists():
            shutil.copy(file, part)
