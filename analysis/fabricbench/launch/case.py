# SPDX-License-Identifier: Apache-2.0
"""A test case: a check on a lane, as ReFrame names its stage directory."""

from typing import NamedTuple

from fabricbench.site.lane import LaneName


class Case(NamedTuple):
    """A test case as ReFrame names it: the check's class with the hash of its parameters, and the lane.

    ``stack`` is the name of ReFrame's environment, which contains the variant of the lane (``mpich-local-shm``).
    """

    check: str
    fabric: str
    stack: str

    @property
    def lane_name(self) -> LaneName:
        """The lane in parts."""
        return LaneName.in_environment(self.stack, self.fabric)

    @property
    def lane(self) -> str:
        """The name of the lane, ``stack@fabric`` or ``stack@fabric:variant``."""
        return self.lane_name.name

    @property
    def check_class(self) -> str:
        """The name of the check's class, without the hash of its parameters."""
        return self.check.rpartition("_")[0]


def case_of(directory: str) -> Case | None:
    """Returns the case of a launch directory, relative to ``launches/``; None for any other directory."""
    parts = directory.split("/")
    return Case(parts[-1], parts[-3], parts[-2]) if len(parts) == 5 else None
