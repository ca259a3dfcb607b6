# SPDX-License-Identifier: Apache-2.0
"""Ranks with threads of their own, which the program places."""

from reframe.core.builtins import variable

from .cores import CoresMixin


class ThreadsMixin(CoresMixin):
    """Sets the number of OpenMP threads of each rank. A launch with more threads than cores is oversubscribed.

    Must precede the base class in the MRO.
    """

    threaded = True
    threads: int = variable(int, value=1, loggable=True)

    @property
    def workers(self) -> int:
        return self.ranks * self.threads

    def lane_variables(self) -> dict[str, str]:
        """Returns the lane's variables, with the check's number of threads in place of the shell's."""
        return super().lane_variables() | {"OMP_NUM_THREADS": str(self.threads)}
