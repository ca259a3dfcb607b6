# SPDX-License-Identifier: Apache-2.0
"""A system as its site declares it: a machine or a cluster with its fabrics and stacks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput, nearest
from fabricbench.site.fabric import Fabric
from fabricbench.site.stacks import Stack, site_stacks

EXTRA = "fabricbench"
"""The key under which ReFrame's ``extras`` hold the System."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A machine or a cluster.

    ``name`` is the name of the folder of its ``settings.py``, which is ``file``. ``hostnames`` are regular expressions
    by which ReFrame recognises the system. ``stacks`` are names of ``site/stacks.py``. ``modules_system`` is ReFrame's
    name of the module system that the modules of the fabrics are for: lmod, tmod4, envmod, spack.

    Raises BadInput if a value is not accepted or a stack is not declared.
    """

    name: str
    file: str | Path
    description: str
    fabrics: Sequence[Fabric]
    stacks: Sequence[str]
    hostnames: Sequence[str] = ()
    modules_system: str = "nomod"

    def __post_init__(self) -> None:
        for fabric in self.fabrics:
            fabric.check(self.path, self.stacks)
        for name in self.stacks:
            self.stack(name)

    @property
    def path(self) -> Path:
        """The absolute path of ``settings.py``."""
        return Path(self.file).resolve()

    @property
    def folder(self) -> Path:
        """The folder of ``settings.py``."""
        return self.path.parent

    def stack(self, name: str) -> Stack:
        """Returns a stack of ``site/stacks.py``; raises BadInput with the nearest names if it is not declared."""
        declared = site_stacks(self.folder.parent)
        if name not in declared:
            raise BadInput(f"unknown stack '{name}'", where=str(self.path), expected=nearest(name, declared))
        return declared[name]

    def fabric(self, name: str) -> Fabric:
        """Returns the fabric with this name; raises KeyError if there is none."""
        return {fabric.name: fabric for fabric in self.fabrics}[name]

    def pairings(self) -> Iterator[tuple[Fabric, Stack]]:
        """Yields each fabric with each of its stacks; raises BadInput if the system does not have that stack."""
        for fabric in self.fabrics:
            for name in fabric.stacks:
                if name not in self.stacks:
                    raise self.unknown_stack(fabric, name)
                yield fabric, self.stack(name)

    def unknown_stack(self, fabric: Fabric, name: str) -> BadInput:
        """Returns the error for a stack of a fabric that the system does not have."""
        what = f"fabric {fabric.name} names the stack '{name}'"
        return BadInput(what, where=str(self.path), expected=nearest(name, self.stacks))

    @property
    def extras(self) -> dict[str, object]:
        """The ``extras`` of every partition and environment in ReFrame's configuration."""
        return {EXTRA: self}


def system_in(extras: Mapping[str, object]) -> System | None:
    """Returns the System in ReFrame's ``extras``; None if it has none."""
    carried = extras.get(EXTRA)
    return carried if isinstance(carried, System) else None
