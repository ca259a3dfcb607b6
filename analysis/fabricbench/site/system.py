# SPDX-License-Identifier: Apache-2.0
"""A system as its site declares it: a machine or a cluster with its fabrics and stacks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from fabricbench.errors import BadInput, nearest
from fabricbench.site.fabric import Fabric
from fabricbench.site.frozen import freeze
from fabricbench.site.stacks import Stack, site_stacks

EXTRA = "fabricbench"
"""The key under which ReFrame's ``extras`` hold the System."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A machine or a cluster.

    ``name`` is the name of the folder of its ``settings.py``, which is ``file``. ``hostnames`` are regular expressions
    by which ReFrame recognises the system. ``stacks`` are names of ``site/stacks.py``. ``modules_system`` is ReFrame's
    name of the module system that the modules of the fabrics are for: lmod, tmod4, envmod, spack.

    A System is immutable in depth. Raises BadInput if a value is not accepted, a stack is not declared, or a fabric
    names a stack that the system does not have.
    """

    name: str
    file: str | Path
    description: str
    fabrics: Sequence[Fabric]
    stacks: Sequence[str]
    hostnames: Sequence[str] = ()
    modules_system: str = "nomod"
    _stacks: Mapping[str, Stack] = field(init=False, repr=False, compare=False)
    _fabrics: Mapping[str, Fabric] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        freeze(self)
        for fabric in self.fabrics:
            fabric.check(self.path, self.stacks)
        object.__setattr__(self, "_stacks", self._declared_stacks())
        object.__setattr__(self, "_fabrics", MappingProxyType({fabric.name: fabric for fabric in self.fabrics}))

    def _declared_stacks(self) -> Mapping[str, Stack]:
        """Returns the stacks by name; raises BadInput with the nearest names for an unknown one."""
        declared = site_stacks(self.folder.parent)
        for name in self.stacks:
            if name not in declared:
                raise BadInput(f"unknown stack '{name}'", where=str(self.path), expected=nearest(name, declared))
        for fabric in self.fabrics:
            for name in fabric.stacks:
                if name not in self.stacks:
                    what = f"fabric {fabric.name} names the stack '{name}'"
                    raise BadInput(what, where=str(self.path), expected=nearest(name, self.stacks))
        return MappingProxyType({name: declared[name] for name in self.stacks})

    def __deepcopy__(self, memo: dict[int, object]) -> "System":
        """Returns this system: ReFrame copies its configuration, and the copy carries the same object."""
        return self

    @property
    def path(self) -> Path:
        """The absolute path of ``settings.py``."""
        return Path(self.file).resolve()

    @property
    def folder(self) -> Path:
        """The folder of ``settings.py``."""
        return self.path.parent

    def stack(self, name: str) -> Stack:
        """Returns the stack with this name; raises KeyError if the system has none."""
        return self._stacks[name]

    def fabric(self, name: str) -> Fabric:
        """Returns the fabric with this name; raises KeyError if there is none."""
        return self._fabrics[name]

    def pairings(self) -> Iterator[tuple[Fabric, Stack]]:
        """Yields each fabric with each of its stacks."""
        for fabric in self.fabrics:
            for name in fabric.stacks:
                yield fabric, self.stack(name)

    @property
    def extras(self) -> dict[str, object]:
        """The ``extras`` of every partition and environment in ReFrame's configuration."""
        return {EXTRA: self}


def system_in(extras: Mapping[str, object]) -> System | None:
    """Returns the System in ReFrame's ``extras``; None if it has none."""
    carried = extras.get(EXTRA)
    return carried if isinstance(carried, System) else None
