# SPDX-License-Identifier: Apache-2.0
"""Makes the declarations of a site immutable in depth."""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def freeze(declaration: "DataclassInstance") -> None:
    """Replaces the lists and mappings in the fields of a frozen dataclass by immutable copies; for __post_init__."""
    for field in fields(declaration):
        if field.init:
            object.__setattr__(declaration, field.name, frozen(getattr(declaration, field.name)))


def frozen(value: object) -> object:
    """Returns a list or tuple as a tuple, a mapping as a read-only copy, in depth, and any other value as it is."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: frozen(part) for key, part in value.items()})
    if type(value) in (list, tuple):
        return tuple(map(frozen, value))  # type: ignore[call-overload]
    return value
