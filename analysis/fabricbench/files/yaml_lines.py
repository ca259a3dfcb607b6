# SPDX-License-Identifier: Apache-2.0
"""Reads YAML files of plain data, with the line of every value, so that an error can name ``file:line``.

Plain data are mappings with text keys, sequences and scalars. Everything else that YAML offers is refused.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput, nearest
from fabricbench.files.reading import open_regular

MAX_BYTES = 1 << 20
_LONGEST_VALUE = 40


@dataclass(frozen=True, slots=True)
class YamlValue:
    """One value of a YAML file and its place.

    ``value`` is a scalar, or one of ruamel.yaml's mappings and sequences, which are a dict and a list with lines.
    ``line`` is the line of the key or the list entry that the value belongs to, counted from 1.
    """

    value: object
    path: str
    line: int

    @property
    def where(self) -> str:
        """``file:line``."""
        return f"{self.path}:{self.line}"

    @property
    def children(self) -> "dict[str | int, YamlValue]":
        """The nodes of a mapping by key, or of a sequence by index; empty for a scalar."""
        value, lines = self.value, getattr(self.value, "lc", None)  # ruamel.yaml's line and column
        if isinstance(value, dict) and lines is not None:
            return {key: YamlValue(item, self.path, lines.key(key)[0] + 1) for key, item in value.items()}
        if isinstance(value, list) and lines is not None:
            return {at: YamlValue(item, self.path, lines.item(at)[0] + 1) for at, item in enumerate(value)}
        return {}

    def descendant(self, keys: Collection[str | int]) -> "YamlValue":
        """Returns the node at a path of keys and indices; where the path ends early, the last node on it."""
        node = self
        for key in keys:
            if (child := node.children.get(key)) is None:
                break
            node = child
        return node

    def mapping(self, what: str, keys: Collection[str] | None = None) -> "dict[str, YamlValue]":
        """Returns the value as a mapping whose keys are all ``keys``; raises BadInput otherwise."""
        if not isinstance(self.value, dict):
            raise self.error(what, "a mapping of keys to values")
        nodes = {str(key): node for key, node in self.children.items()}
        for key, node in nodes.items():
            if keys is not None and key not in keys:
                problem = f"unknown key '{key}' in {what}"
                raise BadInput(problem, where=node.where, expected=nearest(key, keys))
        return nodes

    def sequence(self, what: str) -> "tuple[YamlValue, ...]":
        """Returns the value as a sequence with at least one entry; raises BadInput otherwise."""
        if not isinstance(self.value, list) or not self.value:
            raise self.error(what, "a list with at least one entry")
        return tuple(self.children.values())

    def text(self, what: str) -> str:
        """Returns the value as text that is not blank; raises BadInput otherwise."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.error(what, "text")
        return self.value

    def error(self, what: str, expected: str) -> BadInput:
        """Returns the error for a value of the wrong kind."""
        return BadInput(f"{what} is {self.as_text()}", where=self.where, expected=expected)

    def as_text(self) -> str:
        """Returns the value for an error message, at most 40 characters of it."""
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return "a list" if self.value else "an empty list"
        text = _as_yaml(self.value)
        return f"'{text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + '...'}'" if text else "empty"


def read(path: str | Path, *, guarded: bool = False) -> YamlValue:
    """Returns the root of the file's one document; raises BadInput for everything that is not plain YAML data.

    ``guarded`` is for files of unknown origin: it accepts regular files only and no links (``files.reading``).
    """
    from fabricbench.files.yaml_loader import load

    name = str(path)
    value = load(_text(Path(path), name, guarded), name)
    if value is None:
        raise BadInput("the file is empty", where=f"{name}:1", expected="at least 'schema: 1'")
    return YamlValue(value, name, 1)


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


def _as_yaml(value: object) -> str:
    """Returns a scalar as YAML writes it: ``true``, ``.inf``, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value)).replace("inf", ".inf").replace("nan", ".nan")
    return str(value)
