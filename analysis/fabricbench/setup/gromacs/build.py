# SPDX-License-Identifier: Apache-2.0
"""Building GROMACS inputs: a cell, its copies, a last run with the settings that are benchmarked, checks, the ``.tpr``.

Everything can be killed and repeated. ``facts.json`` is written last: without it there is no input.
"""

import errno
import fcntl
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.inputs import cache, checks
from fabricbench.inputs.cache import Facts, Found, Value
from fabricbench.inputs.recipes import SYSTEMS, Gmx, Run, System
from fabricbench.inputs.start import repeated
from fabricbench.inputs.structure import read
from fabricbench.setup.gromacs.gmx import Gromacs, find_gromacs
from fabricbench.setup.gromacs.reference import ensure_reference
from fabricbench.setup.gromacs.sources import free_bytes, provide
from fabricbench.setup.gromacs.steps import Place, Say, do_step, energies, prepare_run, seconds_of

_LEAST_FREE_BYTES = 300_000_000
_BYTES_PER_ATOM = 3000
_GO_ON = "make room, then run the same command again"


def build(wanted: Sequence[System], copies: int, root: Path, say: Say) -> list[Found]:
    """The inputs, made where they are not there yet, each said in a line; BadInput for what stands in the way."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _alone(root):
            log = root / "inputs.log"
            gromacs = find_gromacs(log, say)
            found = []
            for item in wanted:
                found.append(_one(item, copies, root, gromacs, log, say))
                say(line(found[-1]))
            return found
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = _GO_ON if full else "make it writable, or give --directory"
        raise BadInput(error.strerror or str(error), where=str(error.filename or root), hint=hint) from None


def line(found: Found) -> str:
    """A finished input in one line: where it is, what was checked, what it took."""
    if found.facts is None:
        return f"{found.name}  {found.tpr}"
    values = ", ".join(f"{value.name} {value.value:.6g} {value.unit}".rstrip() for value in found.facts.checks)
    return f"{found.name}  {found.tpr}: {values}; made in {found.facts.seconds:.0f} s"


def changed(settings: str, changes: Mapping[str, str]) -> str:
    """The text of an ``.mdp`` file with other values; what it does not name yet is added."""
    kept = [line for line in settings.splitlines() if line.partition("=")[0].strip() not in changes]
    return "\n".join([*kept, *(f"{name:24} = {value}" for name, value in changes.items())]) + "\n"


def _one(wanted: System, copies: int, root: Path, gromacs: Gromacs, log: Path, say: Say) -> Found:
    recipe = cache.recipe_digest(wanted)
    directory = cache.copies_directory(root, wanted, gromacs.version, copies)
    place = Place(directory, wanted, gromacs, {}, say)
    found = cache.check_directory(directory, wanted)
    if not isinstance(found, Found):
        found = _made(place, copies, root, recipe, log)
    ensure_reference(place, found)
    return found


def _made(finished: Place, copies: int, root: Path, recipe: str, log: Path) -> Found:
    wanted, gromacs, say = finished.system, finished.gromacs, finished.say
    directory = finished.home
    _room(wanted, copies, root)
    others = [source for other in SYSTEMS.values() for source in other.sources]
    sources = provide(wanted.sources, others, root / "sources", log, say)
    cell = Place(cache.cell_directory(root, wanted, gromacs.version), wanted, gromacs, sources, say)
    last = _cell(cell)
    place = replace(cell, home=directory)
    settled = _settle(place, copies, last)
    values = _measured(place, settled, cell, last)
    hint = f"to make it anew: rm -r {directory} {cell.home}"
    outcomes = checks.judge(wanted.checks, values, copies=copies, where=str(directory), hint=hint)
    facts = _publish(place, recipe, copies, settled, outcomes, seconds_of(cell.home) | seconds_of(directory))
    return Found(wanted.name, copies, directory / facts.tpr, facts.sha256, facts)


def _cell(place: Place) -> Path:
    """The directory of the cell's last step; earlier steps are taken away when it is done."""
    steps = [(place.home / f"{k:02d}-{step.name}", step) for k, step in enumerate(place.system.cell, start=1)]
    done = max((k for k, (directory, _) in enumerate(steps) if directory.is_dir()), default=-1)
    for k, (directory, step) in enumerate(steps[done + 1 :], start=done + 1):
        do_step(place, step, directory, steps[k - 1][0] if k else None)
    for directory, _ in steps[:-1]:
        shutil.rmtree(directory, ignore_errors=True)
    return steps[-1][0]


def _settle(place: Place, copies: int, last: Path) -> Path:
    """Copies of the cell, with new velocities, and a run of all of them with the settings that are benchmarked."""
    many = place.system.cells(copies)
    settled, before = place.home / "02-settle", last
    if settled.is_dir():
        return settled
    if many != (1, 1, 1):
        before = place.home / "01-copies"
        genconf = ("genconf", "-f", "conf.gro", "-o", "conf.gro", "-nbox", *map(str, many))
        topology = repeated((last / "topol.top").read_text(), many[0] * many[1] * many[2])
        if not before.is_dir():
            do_step(place, Gmx("copies", (genconf,)), before, last, {"topol.top": topology})
    production = (place.system.folder / "production.mdp").read_text()
    settings = changed(production, _settling(place.system, production, anew=before != last))
    do_step(place, Run("settle", "settle", continued=before == last), settled, before, {"settle.mdp": settings})
    return settled


def _settling(system: System, production: str, *, anew: bool) -> dict[str, str]:
    """What the last run changes in the settings that are benchmarked: its length, and that it writes energies."""
    changes = {"nsteps": str(system.settle_steps), "nstenergy": "10", "nstcalcenergy": "10"}
    values = dict(re.findall(r"^\s*([\w-]+)\s*=\s*(\S+)", production, re.M))
    if anew:
        changes |= {"gen-vel": "yes", "gen-temp": values["ref-t"], "gen-seed": values["ld-seed"]}
    return changes


def _publish(
    place: Place,
    recipe: str,
    copies: int,
    settled: Path,
    outcomes: Sequence[checks.Outcome],
    seconds: dict[str, float],
) -> Facts:
    """The ``.tpr`` and what it was made of in their place, the facts last."""
    name = place.system.name
    prepare_run(place, Run("tpr", "production"), settled, f"{name}.tpr")
    for file in (f"{name}.tpr", "conf.gro", "topol.top", "production.mdp", *(f.name for f in settled.glob("*.itp"))):
        shutil.copy(settled / file, place.home / file)
    facts = Facts(
        name=name,
        copies=copies,
        atoms=int(outcomes[0].value),
        tpr=f"{name}.tpr",
        sha256=cache.digest_of(place.home / f"{name}.tpr"),
        recipe=recipe,
        gromacs=place.gromacs.version,
        checks=tuple(Value(name=c.name, unit=c.unit, value=v, low=c.low, high=c.high) for c, v in outcomes),
        seconds=round(sum(seconds.values()), 1),
        steps=seconds,
    )
    write_json(place.home / cache.FACTS, facts.model_dump(mode="json"))
    for directory in (place.home / "01-copies", settled):
        shutil.rmtree(directory, ignore_errors=True)
    return facts


def _measured(place: Place, settled: Path, cell: Place, last: Path) -> dict[str, float]:
    """Every quantity that a check may ask for. The mass of a cell is its density times its volume."""
    final = read(settled / "conf.gro")
    cells = len(final) / len(read(last / "conf.gro"))
    series = energies(place, settled, "Temperature", "Conserved-En.")
    mass = energies(cell, last, "Density", "Volume")
    found = {
        "atoms": float(len(final)),
        "density": checks.mean_of_second_half(mass[:, 1] * mass[:, 2]) * cells / final.volume_nm3,
        "temperature": checks.mean_of_second_half(series[:, 1]),
        "energy_drift": checks.drift(series[:, 0], series[:, 2], len(final)),
    }
    if place.system.lipids_per_copy:
        found |= {
            "area_per_lipid": checks.area_per_lipid(final),
            "gauche_share": checks.gauche_share(final),
            "water_in_core": checks.water_in_core(final),
        }
    return found


def _room(wanted: System, copies: int, root: Path) -> None:
    atoms = next(check.high for check in wanted.checks if check.name == "atoms") * copies
    needed, free = int(_LEAST_FREE_BYTES + atoms * _BYTES_PER_ATOM), free_bytes(root)
    if free < needed:
        expected = f"{needed // 10**6} MB for {wanted.name}"
        hint = "make room, or give --directory"
        raise BadInput(f"{free // 10**6} MB free", where=str(root), expected=expected, hint=hint)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """No other command builds below ``root`` at the same time; the lock goes with the process, however it ends."""
    with (root / "lock").open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput("another command makes inputs here", where=str(root), hint="wait until it is done") from None
        for left in (root / "sources").glob(".part-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
