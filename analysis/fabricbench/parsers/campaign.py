# SPDX-License-Identifier: Apache-2.0
"""A campaign directory: its facts, its launches, its gaps."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from fabricbench.core.campaign import FACTS, LAUNCHES, read_planned
from fabricbench.core.errors import BadInput
from fabricbench.core.launch import Gap
from fabricbench.core.physics import refute_beyond_physics
from fabricbench.core.record import Campaign, CampaignFacts, Record
from fabricbench.core.requirements import Requirements
from fabricbench.core.unmeasured import unmeasured
from fabricbench.parsers.collect import benchmarks, collect, digest

CACHE = "record.json"


def read_campaign(path: Path) -> Campaign:
    """Everything in the campaign at ``path``; BadInput where there is none. A bad launch is a record, no error."""
    facts = read_facts(path)
    records = [_record(path, directory) for directory in launch_directories(path)]
    records.sort(key=_order)
    found = dict(_gaps(path))
    gaps = {_named(gap): gap for gap in (*found.values(), *_row_gaps(records))}
    return Campaign(
        name=path.resolve().name,
        facts=facts,
        records=refute_beyond_physics(tuple(records)),
        gaps=tuple(gaps[key] for key in sorted(gaps)),
        unmeasured=unmeasured(facts, read_planned(path), found, records),
    )


def read_facts(path: Path) -> CampaignFacts:
    """``campaign.json`` of the campaign at ``path``."""
    file = path / FACTS
    try:
        return CampaignFacts.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise BadInput(
            "no campaign here",
            where=str(path),
            expected=f"a directory with {FACTS}",
            cure="see fabricbench run",
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
    names = {kind: {getattr(one, kind) for one in (*launches, *found.gaps)} for kind in ("stack", "fabric", "tool")}
    names["benchmark"] = benchmarks() | {row.benchmark for record in found.records for row in record.rows}
    for item in own.items if own else ():
        names["tool"].add(item.tool)
        for kind in ("stack", "fabric"):
            names[kind].update(item.many.get(kind, ()))
    return names


def launch_directories(path: Path) -> list[Path]:
    """Directories under ``launches/`` that hold a launch: those where the harness or the wrapper wrote a fact."""
    found = []
    for folder, subfolders, files in os.walk(path / LAUNCHES):
        if {"launch.json", "begin"} & set(files):
            found.append(Path(folder))
            subfolders.clear()
    return sorted(found)


def write_cache(directory: Path, record: Record) -> None:
    """Keep ``record`` beside the facts that it was derived from; anyone may delete it."""
    text = json.dumps({"digest": digest(directory), "record": record.model_dump(mode="json")})
    temporary = directory / f".{CACHE}.{os.getpid()}"
    try:
        temporary.write_text(text)
        temporary.replace(directory / CACHE)
    except OSError:
        temporary.unlink(missing_ok=True)


def _record(path: Path, directory: Path) -> Record:
    name = _name(path, directory)
    try:
        cache = json.loads((directory / CACHE).read_bytes())
        if cache["digest"] == digest(directory):
            return Record.model_validate({**cache["record"], "directory": name})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return collect(directory, name)


def _name(path: Path, directory: Path) -> str:
    """Where a launch is in its campaign. A name that is no UTF-8 must still be text that every format can hold."""
    return os.fsencode(directory.relative_to(path / LAUNCHES)).decode("utf-8", errors="replace")


def _gaps(path: Path) -> Iterator[tuple[str, Gap]]:
    """Launches that could not be made, by their directories."""
    for file in sorted((path / LAUNCHES).rglob("gap.json"), reverse=True):
        try:
            yield _name(path, file.parent), Gap.model_validate_json(file.read_bytes())
        except (OSError, ValueError):
            continue


def _row_gaps(records: Iterable[Record]) -> Iterator[Gap]:
    """Single sizes that launches could not measure."""
    for record in records:
        if (launch := record.launch) is None:
            continue
        for gap in record.gaps:
            what = " ".join(part for part in (gap.benchmark, gap.case) if part)
            at = "" if gap.msg_size_bytes is None else f" at {gap.msg_size_bytes} B"
            yield Gap(
                **{name: getattr(launch, name) for name in ("id", "block", "system", "fabric", "stack", "variant")},
                **{name: getattr(launch, name) for name in ("tool", "messages")},
                benchmark=what + at,
                reason=gap.reason,
            )


def _named(gap: Gap) -> tuple[str, str, str, str]:
    """The same gap in every block."""
    return (gap.lane, gap.tool, gap.benchmark, gap.messages or "")


def _order(record: Record) -> tuple[int, float, str]:
    if record.launch is None:
        return (1 << 30, 0.0, record.directory)
    return (record.launch.block, record.begin or 0.0, record.directory)
