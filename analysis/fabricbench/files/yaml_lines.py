# SPDX-License-Identifier: Apache-2.0
"""YAML read safely, every value with the line it stands on, so that an error can name ``file:line``.

Only plain data: mappings with text keys, sequences and scalars. Duplicate keys, anchors, tags and several
documents in one file are refused.
"""

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fabricbench.errors import BadInput, nearest
from fabricbench.files.reading import open_regular

MAX_BYTES = 1 << 20
_SIZE = re.compile(r"(\d{1,12}) ?(B|KiB|MiB|GiB)")
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_PREFIX = "tag:yaml.org,2002:"
_PLAIN = {_PREFIX + kind for kind in ("str", "int", "float", "bool", "null")}


@dataclass(frozen=True, slots=True)
class Node:
    """One value: a dict of text to Node, a tuple of Nodes, or a scalar.

    ``line`` is where it, or the key that it belongs to, begins; ``raw`` is a scalar as written.
    """

    value: Any
    path: str
    line: int
    raw: str = ""

    @property
    def where(self) -> str:
        """``file:line``."""
        return f"{self.path}:{self.line}"

    def mapping(self, what: str, known: Collection[str] | None = None) -> "dict[str, Node]":
        """The value as a mapping whose keys are all ``known``; BadInput otherwise."""
        if not isinstance(self.value, dict):
            raise self.wrong(what, "a mapping of keys to values")
        for key, node in self.value.items():
            if known is not None and key not in known:
                problem = f"unknown key '{key}' in {what}"
                raise BadInput(problem, where=node.where, expected=nearest(key, known))
        return self.value

    def sequence(self, what: str) -> "tuple[Node, ...]":
        """The value as a sequence with at least one entry; BadInput otherwise."""
        if not isinstance(self.value, tuple) or not self.value:
            raise self.wrong(what, "a list with at least one entry")
        return self.value

    def text(self, what: str, *, empty: bool = False) -> str:
        """The value as text, not blank unless ``empty``; BadInput otherwise."""
        if not isinstance(self.value, str) or not (empty or self.value.strip()):
            raise self.wrong(what, "text")
        return self.value

    def integer(self, what: str, *, least: int = 0) -> int:
        """The value as a whole number of at least ``least``; BadInput otherwise."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < least:
            raise self.wrong(what, f"a whole number of at least {least}")
        return self.value

    def number(self, what: str) -> float:
        """The value as a finite number, ``1e3`` included; BadInput otherwise."""
        value = None if isinstance(self.value, bool | dict | tuple) else _float(self.value)
        if value is None:
            raise self.wrong(what, "a number")
        if not math.isfinite(value):
            raise self.wrong(what, "a finite number")
        return value

    def size_bytes(self, what: str) -> int:
        """The value as bytes: a whole number of at least 0, or text such as "64 KiB"; BadInput otherwise."""
        if isinstance(self.value, str) and (match := _SIZE.fullmatch(self.value.strip())):
            return int(match[1]) * _BYTES[match[2]]
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not 0 <= self.value < 1 << 50:
            raise self.wrong(what, "a whole number of bytes, or a size such as '64 KiB' (B, KiB, MiB, GiB)")
        return self.value

    def wrong(self, what: str, expected: str) -> BadInput:
        """The error for a value of the wrong kind."""
        return BadInput(f"{what} is {self.shown()}", where=self.where, expected=expected)

    def shown(self) -> str:
        """The value for an error message, short."""
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, tuple):
            return "a list" if self.value else "an empty list"
        text = self.raw if len(self.raw) <= 40 else self.raw[:37] + "..."
        return f"'{text}'" if text else "empty"


def read(path: str | Path, *, guarded: bool = False) -> Node:
    """The file's one document as a tree of Nodes; BadInput for everything that is not plain YAML data.

    ``guarded`` is for files that may come from anywhere: regular files only, no links (``files.reading``).
    """
    name = str(path)
    text = _text(Path(path), name, guarded)
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            raise BadInput("the file is empty", where=f"{name}:1", expected="at least 'schema: 1'")
        return _convert(root, loader, name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise BadInput(f"not YAML: {error.problem}", where=f"{name}:{line}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadInput(f"not text: character #x{error.character:04x}", where=f"{name}:{line}") from None
    except RecursionError:
        raise BadInput("nested too deeply", where=f"{name}:1") from None


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses aliases: a few lines of them can stand for billions of values."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        events: Any = self
        if events.check_event(yaml.events.AliasEvent):
            mark = events.peek_event().start_mark
            raise yaml.composer.ComposerError(None, None, "anchors and aliases are not accepted here", mark)
        return super().compose_node(parent, index)


def _text(path: Path, name: str, guarded: bool) -> str:
    try:
        with open(open_regular(path), "rb") if guarded else path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=name) from None
    if len(data) > MAX_BYTES:
        raise BadInput("the file is too large", where=name, expected=f"at most {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput("not text", where=f"{name}:{line}", expected="UTF-8") from None


def _convert(node: Any, loader: _Loader, path: str, key_line: int | None = None) -> Node:
    line = key_line or node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode) and node.tag == _PREFIX + "map":
        return Node(dict(_pairs(node, loader, path)), path, line)
    if isinstance(node, yaml.SequenceNode) and node.tag == _PREFIX + "seq":
        return Node(tuple(_convert(item, loader, path) for item in node.value), path, line)
    if isinstance(node, yaml.ScalarNode) and node.tag.startswith(_PREFIX):
        return Node(_scalar(node, loader), path, line, node.value)
    raise BadInput(f"tag '{node.tag}' is not accepted", where=f"{path}:{line}", expected="plain values")


def _pairs(node: Any, loader: _Loader, path: str) -> Iterator[tuple[str, Node]]:
    seen: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise BadInput("a key is not text", where=f"{path}:{line}", expected="text")
        if key.value in seen:
            expected = f"once, as in line {seen[key.value]}"
            raise BadInput(f"key '{key.value}' stands twice", where=f"{path}:{line}", expected=expected)
        seen[key.value] = line
        yield key.value, _convert(value, loader, path, line)


def _scalar(node: Any, loader: _Loader) -> str | int | float | bool | None:
    if node.tag not in _PLAIN:
        return str(node.value)
    try:
        value: str | int | float | bool | None = loader.construct_object(node)
    except ValueError:
        return str(node.value)
    return value


def _float(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None
