# SPDX-License-Identifier: Apache-2.0
"""Configures ruamel.yaml to load plain data only, with the line of every key and entry.

Import this module only where a file is read: importing ruamel.yaml takes some 25 ms.
"""

from collections.abc import Callable
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.reader import ReaderError

from fabricbench.errors import BadInput

_PREFIX = "tag:yaml.org,2002:"
_TIMESTAMP = _PREFIX + "timestamp"
"""The tag of a plain scalar that looks like a date; it is read as text."""
_ACCEPTED_TAGS = {_PREFIX + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null")} | {_TIMESTAMP}
MAX_DEPTH = 64
"""Mappings and sequences within each other."""


def load(text: str, name: str) -> Any:
    """Returns the only document of ``text``, or None for an empty one; raises BadInput with ``name:line`` otherwise.

    Mappings and sequences are ruamel.yaml's, whose ``lc`` holds lines and columns. Aliases, tags, duplicate keys,
    keys that are not text and several documents are refused. An integer with too many digits stays text.
    """
    yaml = YAML(typ="rt", pure=True)
    yaml.Composer = _PlainComposer
    yaml.Constructor = _PlainConstructor
    try:
        return yaml.load(text)
    except _Refusal as refusal:
        raise BadInput(refusal.what, where=f"{name}:{refusal.line}", expected=refusal.expected) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise BadInput(f"not YAML: {error.problem}", where=f"{name}:{line}") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadInput(f"not text: character {text[error.position]!r}", where=f"{name}:{line}") from None
    except YAMLError as error:
        raise BadInput(f"not YAML: {' '.join(str(error).split())[:200]}", where=f"{name}:1") from None
    except RecursionError:
        raise BadInput("nested too deeply", where=f"{name}:1") from None


class _Refusal(Exception):
    """Valid YAML that is not plain data, at a line counted from 1."""

    def __init__(self, what: str, line: int, expected: str) -> None:
        self.what, self.line, self.expected = what, line, expected
        super().__init__(what)


class _PlainComposer(Composer):
    """Refuses aliases, because a few lines of them can stand for billions of values, tags and deep nesting."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.parser.check_event(AliasEvent):
            line = self.parser.peek_event().start_mark.line + 1
            raise _Refusal("anchors and aliases are not accepted here", line, "the value itself")
        if self.depth >= MAX_DEPTH:
            raise RecursionError
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        if node.tag not in _ACCEPTED_TAGS:
            raise _Refusal(f"tag '{node.tag}' is not accepted", node.start_mark.line + 1, "plain values")
        return node


class _PlainConstructor(RoundTripConstructor):
    """Refuses keys that are not text and duplicate keys."""

    def check_mapping_key(self, node: Any, key_node: Any, mapping: Any, key: Any, value: Any) -> bool:
        line = key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise _Refusal("a key is not text", line, "text")
        if key in mapping:
            raise _Refusal(f"duplicate key '{key}'", line, f"the key once, as in line {mapping.lc.key(key)[0] + 1}")
        return True


def _value_or_text(construct: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wraps a constructor of scalars so that a scalar that it cannot convert stays text."""

    def converted(constructor: Any, node: Any) -> Any:
        try:
            return construct(constructor, node)
        except (ValueError, KeyError):
            return str(node.value)

    return converted


_PlainConstructor.add_constructor(_PREFIX + "int", _value_or_text(RoundTripConstructor.construct_yaml_int))
_PlainConstructor.add_constructor(_PREFIX + "float", _value_or_text(RoundTripConstructor.construct_yaml_float))
_PlainConstructor.add_constructor(_PREFIX + "bool", _value_or_text(RoundTripConstructor.construct_yaml_bool))
_PlainConstructor.add_constructor(_TIMESTAMP, lambda _, node: str(node.value))
