# SPDX-License-Identifier: Apache-2.0
"""A campaign directory: its facts, its launches, its skips."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from fabricbench.attestation.physics import refute_beyond_physics
from fabricbench.campaign.cache import read_entries, write_entries
from fabricbench.campaign.collect import code_digest, collect, digest
from fabricbench.campaign.write import read_planned
from fabricbench.errors import BadInput
from fabricbench.files.layout import FACTS, LAUNCHES, SKIPPED
from fabricbench.files.reading import read_regular
from fabricbench.launch.facts import SkippedLaunch
from fabricbench.launch.record import Campaign, CampaignFacts, Record
from fabricbench.launch.unmeasured import unmeasured
from fabricbench.parsers.output import Unreadable, read_model
from fabricbench.parsers.registry import benchmarks
from fabricbench.site.requirements import Requirements

_SKIPPED = frozenset(SKIPPED)
_OF_A_LAUNCH = {"launch.json", "begin"}
_DEEPEST = 32
"""Directories deeper than this below ``launches/`` are not searched; a launch is at depth 5."""


def read_campaign(path: Path, *, recompute: bool = False) -> Campaign:
    """Everything in the campaign at ``path``; BadInput where there is none. A bad launch is a record, no error.

    Records come from the user's cache where it has those of the same facts and code, with ``recompute`` never.
    """
    facts = read_facts(path)
    name = hashlib.sha256(code_digest() + facts.model_dump_json().encode()).hexdigest()
    places = _places(path)
    records = list(_records(path, [folder for folder, names in places if names & _OF_A_LAUNCH], name, recompute))
    found, unreadable = _skips(path, [folder for folder, names in places if names & _SKIPPED])
    records = sorted([*records, *unreadable], key=_order)
    skips = {_named(skip): skip for skip in (*found.values(), *_row_skips(records))}
    return Campaign(
        name=path.resolve().name,
        facts=facts,
        records=refute_beyond_physics(tuple(records)),
        skips=tuple(skips[key] for key in sorted(skips)),
        unmeasured=unmeasured(facts, read_planned(path), found, records),
    )


def read_facts(path: Path) -> CampaignFacts:
    """``campaign.json`` of the campaign at ``path``."""
    file = path / FACTS
    try:
        return CampaignFacts.model_validate_json(read_regular(file))
    except FileNotFoundError:
        raise BadInput(
            "no campaign here",
            where=str(path),
            expected=f"a directory with {FACTS}",
            hint="see fabricbench run",
        ) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(file)) from None
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise BadInput("not JSON", where=str(file)) from None
        key = ".".join(map(str, first["loc"]))
        raise BadInput(f"{key}: {first['msg']}", where=str(file)) from None


def known_names(found: Campaign, own: Requirements | None) -> dict[str, set[str]]:
    """Names that requirements on this campaign may use, by kind: what it holds, and what its own requirements name."""
    launches = [record.launch for record in found.records if record.launch is not None]
    names = {kind: {getattr(one, kind) for one in (*launches, *found.skips)} for kind in ("stack", "fabric", "tool")}
    names["benchmark"] = benchmarks() | {row.benchmark for record in found.records for row in record.rows}
    for item in own.items if own else ():
        names["tool"].add(item.tool)
        for kind in ("stack", "fabric"):
            names[kind].update(item.many.get(kind, ()))
    return names


def launch_directories(path: Path) -> list[Path]:
    """Directories under ``launches/`` that hold a launch: those where the harness or the wrapper wrote a fact."""
    return [folder for folder, names in _places(path) if names & _OF_A_LAUNCH]


def _places(path: Path) -> list[tuple[Path, set[str]]]:
    """Directories under ``launches/`` that hold a launch or a skip, in order, with the names in them. What is below a
    launch, or deeper than any launch, is not looked at, nor what a symbolic link leads to."""
    found, left = [], [(os.fspath(path / LAUNCHES), 0)]
    while left:
        folder, depth = left.pop()
        try:
            with os.scandir(folder) as entries:
                kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            continue
        names = set(kinds)
        if names & (_OF_A_LAUNCH | _SKIPPED):
            found.append((Path(folder), names))
        if depth < _DEEPEST and not names & _OF_A_LAUNCH:
            left += [(os.path.join(folder, name), depth + 1) for name, is_folder in kinds.items() if is_folder]
    return sorted(found)


def _records(path: Path, directories: Iterable[Path], name: str, recompute: bool) -> Iterator[Record]:
    """The records of the launches in these directories; the cache then has these under ``name``, and no others."""
    kept = {} if recompute else read_entries(name)
    used: dict[str, bytes] = {}
    for directory in directories:
        place = _place(path, directory)
        key = digest(directory)
        if (record := _kept(kept, key)) is None:
            record = collect(directory, place)
            if digest(directory) == key:  # nothing changed while it was read
                used[key] = record.model_dump_json().encode()
        else:
            used[key] = kept[key]
        yield record.model_copy(update={"directory": place})
    if recompute or used != kept:
        write_entries(name, used)


def _place(path: Path, directory: Path) -> str:
    """The name of a launch: a directory whose name is no UTF-8 must still be text that every format can hold."""
    return os.fsencode(directory.relative_to(path / LAUNCHES)).decode("utf-8", errors="replace")


def _kept(kept: Mapping[str, bytes], key: str) -> Record | None:
    try:
        return Record.model_validate_json(kept[key])
    except (KeyError, ValueError):
        return None


def _skips(path: Path, folders: Sequence[Path]) -> tuple[dict[str, SkippedLaunch], list[Record]]:
    """Launches that could not be made, by their place; and a record of each place whose skip cannot be read."""
    found: dict[str, SkippedLaunch] = {}
    unreadable = []
    for folder in reversed(folders):
        place = _place(path, folder)
        try:
            name = next(name for name in SKIPPED if os.path.lexists(folder / name))
            found[place] = read_model(folder / name, SkippedLaunch)
        except Unreadable as error:
            unreadable.append(Record(directory=place, launch=None, state="unreadable", reason=str(error)))
    return found, unreadable


def _row_skips(records: Iterable[Record]) -> Iterator[SkippedLaunch]:
    """Single sizes that launches could not measure."""
    for record in records:
        if (launch := record.launch) is None:
            continue
        for skip in record.skips:
            what = " ".join(part for part in (skip.benchmark, skip.case) if part)
            at = "" if skip.msg_size_bytes is None else f" at {skip.msg_size_bytes} B"
            yield SkippedLaunch(
                **{name: getattr(launch, name) for name in ("id", "block", "system", "fabric", "stack", "variant")},
                **{name: getattr(launch, name) for name in ("tool", "messages")},
                benchmark=what + at,
                reason=skip.reason,
            )


def _named(skip: SkippedLaunch) -> tuple[str, str, str, str]:
    """The same skip in every block."""
    return (skip.lane, skip.tool, skip.benchmark, skip.messages or "")


def _order(record: Record) -> tuple[int, float, str]:
    if record.launch is None:
        return (1 << 30, 0.0, record.directory)
    return (record.launch.block, record.begin or 0.0, record.directory)
