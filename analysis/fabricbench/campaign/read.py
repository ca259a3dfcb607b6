# SPDX-License-Identifier: Apache-2.0
"""Reads a campaign directory: its facts, its launches, its skips."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from fabricbench.attestation.physics import refute_beyond_physics
from fabricbench.campaign.cache import read_entries, write_entries
from fabricbench.campaign.collect import collect
from fabricbench.campaign.digest import code_digest, digest
from fabricbench.campaign.removed import read_removed
from fabricbench.campaign.write import read_planned
from fabricbench.errors import BadInput
from fabricbench.files.layout import FACTS, LAUNCHES, SKIPPED
from fabricbench.files.reading import read_regular
from fabricbench.launch.facts import SkippedLaunch
from fabricbench.launch.record import Campaign, CampaignFacts, Record
from fabricbench.launch.unmeasured_cases import unmeasured
from fabricbench.parsers.output import Unreadable, read_model
from fabricbench.parsers.registry import benchmarks, half_round_trips
from fabricbench.site.requirements import Requirements

_SKIPPED = frozenset(SKIPPED)
_OF_A_LAUNCH = {"launch.json", "begin"}
_DEEPEST = 32
"""Directories deeper than this below ``launches/`` are not searched; a launch is at depth 5."""


def read_campaign(path: Path, *, recompute: bool = False) -> Campaign:
    """Returns the campaign at ``path``; raises BadInput if there is none.

    A launch that cannot be read gives a record, not an error. Records come from the user's cache if their files and
    code are unchanged; with ``recompute`` all are computed.
    """
    facts = read_facts(path)
    name = hashlib.sha256(code_digest() + facts.model_dump_json().encode()).hexdigest()
    places = _places(path)
    records = list(_records(path, [folder for folder, names in places if names & _OF_A_LAUNCH], name, recompute))
    skipped, unreadable = _skips(path, [folder for folder, names in places if names & _SKIPPED])
    records = sorted([*records, *unreadable], key=_order)
    skips = {_identity(skip): skip for skip in (*skipped.values(), *_row_skips(records))}
    return Campaign(
        name=path.resolve().name,
        facts=facts,
        records=refute_beyond_physics(tuple(records), half_round_trips()),
        skips=tuple(skips[key] for key in sorted(skips)),
        unmeasured=unmeasured(facts, read_planned(path), skipped, records),
        removed=read_removed(path),
    )


def read_facts(path: Path) -> CampaignFacts:
    """Returns ``campaign.json`` of the campaign at ``path``; raises BadInput if it cannot be read."""
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


def known_names(campaign: Campaign, own: Requirements | None) -> dict[str, set[str]]:
    """Returns the names that requirements may use, by kind: those in this campaign and in its own requirements."""
    launches = [record.launch for record in campaign.records if record.launch is not None]
    names = {kind: {getattr(one, kind) for one in (*launches, *campaign.skips)} for kind in ("stack", "fabric", "tool")}
    names["benchmark"] = benchmarks() | {row.benchmark for record in campaign.records for row in record.rows}
    for item in own.items if own else ():
        names["tool"].add(item.tool)
        for kind in ("stack", "fabric"):
            names[kind].update(item.many.get(kind, ()))
    return names


def launch_directories(path: Path) -> list[Path]:
    """Returns the directories of all launches of the campaign at ``path``, in order."""
    return [folder for folder, names in _places(path) if names & _OF_A_LAUNCH]


def _places(path: Path) -> list[tuple[Path, set[str]]]:
    """Returns the directories below ``launches/`` that contain a launch or a skip, in order, with the names in them.

    It does not descend into launches, into directories deeper than any launch, or through symbolic links.
    """
    places, remaining = [], [(os.fspath(path / LAUNCHES), 0)]
    while remaining:
        folder, depth = remaining.pop()
        try:
            with os.scandir(folder) as entries:
                kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            continue
        names = set(kinds)
        if names & (_OF_A_LAUNCH | _SKIPPED):
            places.append((Path(folder), names))
        if depth < _DEEPEST and not names & _OF_A_LAUNCH:
            remaining += [(os.path.join(folder, name), depth + 1) for name, is_folder in kinds.items() if is_folder]
    return sorted(places)


def _records(path: Path, directories: Iterable[Path], name: str, recompute: bool) -> Iterator[Record]:
    """Yields the records of these launches; afterwards the cache contains these under ``name``, and no others."""
    cached = {} if recompute else read_entries(name)
    used: dict[str, bytes] = {}
    for directory in directories:
        place = _place(path, directory)
        key = digest(directory)
        if (record := _from_cache(cached, key)) is None:
            record = collect(directory, place)
            if digest(directory) == key:  # nothing changed while it was read
                used[key] = record.model_dump_json().encode()
        else:
            used[key] = cached[key]
        yield record.model_copy(update={"directory": place})
    if recompute or used != cached:
        write_entries(name, used)


def _place(path: Path, directory: Path) -> str:
    """Returns the name of a launch as text that every format can contain, even if its directory's name is not UTF-8."""
    return os.fsencode(directory.relative_to(path / LAUNCHES)).decode("utf-8", errors="replace")


def _from_cache(cached: Mapping[str, bytes], key: str) -> Record | None:
    try:
        return Record.model_validate_json(cached[key])
    except (KeyError, ValueError):
        return None


def _skips(path: Path, folders: Sequence[Path]) -> tuple[dict[str, SkippedLaunch], list[Record]]:
    """Returns the skipped launches by their place, and a record of each place whose skip cannot be read."""
    skipped: dict[str, SkippedLaunch] = {}
    unreadable = []
    for folder in reversed(folders):
        place = _place(path, folder)
        try:
            name = next(name for name in SKIPPED if os.path.lexists(folder / name))
            skipped[place] = read_model(folder / name, SkippedLaunch)
        except Unreadable as error:
            unreadable.append(Record(directory=place, launch=None, state="unreadable", reason=str(error)))
    return skipped, unreadable


def _row_skips(records: Iterable[Record]) -> Iterator[SkippedLaunch]:
    """Yields the single sizes that launches skipped, as skipped launches."""
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


def _identity(skip: SkippedLaunch) -> tuple[str, str, str, str, int, int]:
    """Returns the key that is the same for a skip in every block."""
    return (skip.lane, skip.tool, skip.benchmark, skip.messages or "", skip.nodes or 0, skip.ranks or 0)


def _order(record: Record) -> tuple[int, float, str]:
    if record.launch is None:
        return (1 << 30, 0.0, record.directory)
    return (record.launch.block, record.begin or 0.0, record.directory)
