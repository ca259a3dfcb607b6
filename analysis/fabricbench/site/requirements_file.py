# SPDX-License-Identifier: Apache-2.0
"""Reads ``site/<system>/requirements.yaml``; every error names file and line, and what is accepted there."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from fabricbench.errors import BadInput, nearest
from fabricbench.files.yaml_lines import YamlValue, read
from fabricbench.metrics import METRICS, Metric, metric
from fabricbench.site.cases import completed_case
from fabricbench.site.requirements import (
    LOST_AT_MOST,
    MANY,
    Bounds,
    Requirement,
    Requirements,
    SizeSelection,
    check_names,
)

_COUNTS = ("ranks", "nodes")
_BOUNDS = ("at_most", "at_least", "within")


def load_requirements(
    path: str | Path, names: Mapping[str, Collection[str]] | None = None, *, guarded: bool = False
) -> Requirements:
    """Returns the requirements of a file; raises BadInput with ``file:line`` for any error in it.

    ``names`` holds the names that exist on this site by kind (``tool``, ``benchmark``, ``stack``, ``fabric``,
    ``variant``); names of other kinds are not checked. ``guarded`` is for files of unknown origin, such as those of a
    campaign (``files.reading``).
    """
    root = read(path, guarded=guarded)
    try:
        file = _File.model_validate(root.value)
    except ValidationError as error:
        raise _bad_input(error, root) from None
    nodes = root.mapping("the file")["requirements"].sequence("requirements")
    items: list[Requirement] = []
    for entry, node in zip(file.requirements, nodes, strict=True):
        item = _requirement(entry, node)
        for other in items:
            if other.id == item.id:
                expected = f"another id than in line {other.lines['id']}"
                raise BadInput(f"duplicate id '{item.id}'", where=item.where(), expected=expected)
        items.append(item)
    requirements = Requirements(str(path), tuple(items))
    check_names(requirements, names or {})
    return requirements


# ---- the form of the file; a field's description is what an error message expects in its place


def _refused(expected: str, what: str = "") -> PydanticCustomError:
    return PydanticCustomError("refused", "{expected}", {"expected": expected, "what": what})


_SIZE = re.compile(r"(\d{1,12}) ?(B|KiB|MiB|GiB)")
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def _size_bytes(value: object, key: str) -> int:
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        return int(match[1]) * _BYTES[match[2]]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 50:
        expected = "a whole number of bytes, or a size such as '64 KiB' (B, KiB, MiB, GiB)"
        raise _refused(expected, f"{key} is {YamlValue(value, '', 0).as_text()}")
    return int(value)


def _sizes(value: object) -> SizeSelection:
    key = "msg_size_bytes"
    if isinstance(value, dict):
        if other_keys := sorted(value.keys() - {"from", "to"}):
            raise _refused(nearest(other_keys[0], ("from", "to")), f"unknown key '{other_keys[0]}' in {key}")
        if not value:
            raise _refused("'from', 'to' or both")
        low, high = (_size_bytes(value[end], end) if end in value else None for end in ("from", "to"))
        if low is not None and high is not None and low > high:
            raise _refused("the smaller size first", f"from {low} to {high}")
        return SizeSelection(low=low, high=high)
    if isinstance(value, list):
        if not value:
            raise _refused("a list with at least one entry")
        return SizeSelection(tuple(sorted({_size_bytes(item, key) for item in value})))
    return SizeSelection((_size_bytes(value, key),))


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


_Text = Annotated[str, StringConstraints(pattern=r"\S")]
_TextList = Annotated[list[_Text], BeforeValidator(_as_list)]
_NameList = Annotated[list[str], BeforeValidator(_as_list)]
"""Unlike a text, a name may be empty."""
_LIST: Any = Field([], min_length=1, description="text, or a list with at least one entry")
_TEXT = Field(description="text")
_OTHER = Field("", description="text")
_COUNT = Field(0, ge=1, description="a whole number of at least 1")


class _Form(BaseModel):
    """The keys of a mapping in the file; the defaults, which stand for absent keys, are not valid values."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)


class _Select(_Form):
    tool: _Text = _TEXT
    benchmark: _Text = _TEXT
    metric: _Text = _TEXT
    stack: _TextList = _LIST
    fabric: _TextList = _LIST
    variant: _NameList = _LIST
    case: _NameList = _LIST
    ranks: int = _COUNT
    nodes: int = _COUNT
    msg_size_bytes: Annotated[SizeSelection, PlainValidator(_sizes)] = SizeSelection()


class _RelativeTo(_Form):
    tool: _Text = _OTHER
    benchmark: _Text = _OTHER
    metric: _Text = _OTHER
    stack: _Text = _OTHER
    fabric: _Text = _OTHER
    variant: str = _OTHER
    case: str = _OTHER
    ranks: int = _COUNT
    nodes: int = _COUNT


class _Entry(_Form):
    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="text of letters, digits, '.', '_' and '-'")
    text: _Text = _TEXT
    clause: str = _OTHER
    select: _Select
    where: str = Field("", pattern="^measured$", description="'measured', or no 'where' for all planned cells")
    relative_to: _RelativeTo = _RelativeTo()
    lost_at_most: float = Field(LOST_AT_MOST, ge=0, le=1, description="a share from 0 to 1, such as 0.1")
    at_most: Any = None
    at_least: Any = None
    within: Any = None


class _File(_Form):
    schema_: int = Field(alias="schema", ge=1, le=1, description="the whole number 1, the only known version")
    requirements: list[_Entry] = Field(min_length=1, description="a list with at least one entry")


_FORMS: dict[str, type[_Form]] = {"select": _Select, "relative_to": _RelativeTo}


def _form_at(place: Sequence[str | int]) -> tuple[str, type[_Form]]:
    """Returns the mapping that a place in the file lies in: its name for messages, and its form."""
    for key in reversed(place):
        if key in _FORMS:
            return str(key), _FORMS[str(key)]
    return ("the file", _File) if len(place) < 2 else ("a requirement", _Entry)


def _bad_input(error: ValidationError, root: YamlValue) -> BadInput:
    """Returns the first error of a file as BadInput; unknown keys come before everything else."""
    details = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")[0]
    kind, place, context = details["type"], details["loc"], details.get("ctx", {})
    node = root.descendant(place)
    if kind == "model_type":
        name = "a requirement" if place and isinstance(place[-1], int) else str(place[-1]) if place else "the file"
        return node.error(name, "a mapping of keys to values")
    form, model = _form_at(place[:-1])
    key = str(place[-1])
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    if kind == "extra_forbidden":
        return BadInput(f"unknown key '{key}' in {form}", where=node.where, expected=nearest(key, fields))
    if kind == "missing":
        required = ", ".join(name for name, field in fields.items() if field.is_required())
        return BadInput(f"{form} lacks '{key}'", where=node.where, expected=f"the keys {required}")
    if kind == "refused" and context["what"]:
        return BadInput(context["what"], where=node.where, expected=context["expected"])
    key = next(str(name) for name in reversed(place) if name in fields)
    return node.error(key, context["expected"] if kind == "refused" else fields[key].description or "another value")


# ---- the meaning of an entry


def _requirement(entry: _Entry, node: YamlValue) -> Requirement:
    nodes = node.mapping("a requirement")
    select = nodes["select"].mapping("select")
    declared = metric(entry.select.metric, select["metric"].where)
    relative = _relative_to(entry.relative_to, nodes["relative_to"], select, declared) if "relative_to" in nodes else {}
    lower, upper = _bounds(nodes, node, None if relative else declared)
    return Requirement(
        id=entry.id,
        text=entry.text,
        clause=entry.clause,
        tool=entry.select.tool,
        benchmark=entry.select.benchmark,
        metric=declared,
        many={key: _names(entry.select, key) for key in MANY if key in select},
        counts={key: getattr(entry.select, key) for key in _COUNTS if key in select},
        sizes=entry.select.msg_size_bytes,
        relative_to=relative,
        lower=lower,
        upper=upper,
        unit="ratio" if relative else declared.unit,
        path=node.path,
        lines=_lines(nodes),
        measured_only=bool(entry.where),
        lost_at_most=entry.lost_at_most,
    )


def _names(select: _Select, key: str) -> tuple[str, ...]:
    """Returns the names that a requirement lists under ``key``; cases of earlier versions are completed."""
    names: list[str] = getattr(select, key)
    return tuple(completed_case(select.tool, name) if key == "case" else name for name in names)


def _lines(nodes: Mapping[str, YamlValue]) -> dict[str, int]:
    """Returns the line of each part of an entry: ``at_most``, ``select.tool``, ``relative_to.fabric``."""
    lines = {key: node.line for key, node in nodes.items()}
    for part in ("select", "relative_to"):
        if part in nodes:
            lines |= {f"{part}.{key}": child.line for key, child in nodes[part].children.items()}
    return lines


def _relative_to(
    form: _RelativeTo, node: YamlValue, select: Mapping[str, YamlValue], declared: Metric
) -> dict[str, str | int]:
    """Returns the columns in which the denominator differs from the numerator, in the order of the file."""
    columns: dict[str, str | int] = {str(key): getattr(form, str(key)) for key in node.children}
    if not columns:
        raise node.error("relative_to", "at least one of " + ", ".join(_RelativeTo.model_fields))
    if form.metric:
        where = node.children["metric"].where
        if metric(form.metric, where).unit != declared.unit:
            alike = sorted(m.name for m in METRICS.values() if m.unit == declared.unit)
            what = f"metric '{form.metric}' is not in {declared.unit} as '{declared.name}' is"
            raise BadInput(what, where=where, expected="one of " + ", ".join(alike))
    if all(key in select and select[key].value == value for key, value in columns.items()):
        raise BadInput("relative_to names the numerator itself", where=node.where, expected="another value")
    if "case" in columns:
        columns["case"] = completed_case(form.tool or str(select["tool"].value), form.case)
    return columns


def _bounds(nodes: Mapping[str, YamlValue], entry: YamlValue, declared: Metric | None) -> Bounds:
    """Returns the lower and the upper limit of an entry; ``declared`` is None for a ratio, which has no unit."""
    keys = [key for key in _BOUNDS if key in nodes]
    if len(keys) != 1:
        what = "no bound" if not keys else "more than one bound: " + ", ".join(keys)
        raise BadInput(what, where=entry.where, expected="exactly one of " + ", ".join(_BOUNDS))
    key = keys[0]
    node = nodes[key]
    if key != "within":
        value = _quantity(node, key, declared)
        return (None, value) if key == "at_most" else (value, None)
    ends = node.sequence(key)
    if len(ends) != 2:
        raise node.error(key, "two numbers, the lower one first")
    lower, upper = (_quantity(end, key, declared) for end in ends)
    if lower >= upper:
        raise BadInput(f"within {lower:g} to {upper:g}", where=node.where, expected="the lower one first")
    return lower, upper


def _quantity(node: YamlValue, what: str, declared: Metric | None) -> float:
    """Returns a limit as a number: a ratio above 0, or a number followed by the metric's unit."""
    if declared is None:
        value = _number(node.value, node, what)
        if value <= 0:
            raise node.error(what, "a ratio above 0")
        return value
    words = node.value.split() if isinstance(node.value, str) else []
    if len(words) != 2 or words[1] != declared.unit:
        raise node.error(what, f"a number and the unit of {declared.name}, such as '100 {declared.unit}'")
    return _number(words[0], node, what)


def _number(value: object, node: YamlValue, what: str) -> float:
    if isinstance(value, bool):
        raise node.error(what, "a number")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise node.error(what, "a number") from None
    if not math.isfinite(number):
        raise node.error(what, "a finite number")
    return number
