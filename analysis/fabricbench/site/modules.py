# SPDX-License-Identifier: Apache-2.0
"""The environment modules of a stack, and the shell commands by which its jobs load them."""

import re
import shlex

from pydantic import BaseModel, ConfigDict, Field

NAME = re.compile(r"[A-Za-z0-9][\w.+@=-]*(?:/[\w.+@=-]+)*", re.ASCII)
"""The accepted names of modules, with or without a version: ``mvapich2/2.3.7``."""


class Modules(BaseModel):
    """The modules that provide a stack.

    ``names``: with their versions, in the order in which they are loaded. ``start``: the file that defines the shell
    function ``module`` in bash. ``path``: the MODULEPATH in which set-up found the modules. ``variables``: the
    variables of MPI stacks that the modules set, with their values at set-up.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    names: tuple[str, ...] = Field(min_length=1)
    start: str
    path: str
    variables: dict[str, str] = {}

    @property
    def text(self) -> str:
        """The names with blanks between them."""
        return " ".join(self.names)

    def commands(self, failure: str) -> list[str]:
        """Returns the commands of a bash script that load the modules.

        ``failure`` is the command that the script executes before it ends if a module is not loaded. Older module
        systems exit with 0 then, so that LOADEDMODULES decides.
        """
        names = " ".join(map(shlex.quote, self.names))
        loaded = 'case ":$LOADEDMODULES:" in *":$name:"*) ;; *)'
        return [
            f'export MODULEPATH={shlex.quote(self.path)}"${{MODULEPATH:+:$MODULEPATH}}"',
            f"command -v module >/dev/null || . {shlex.quote(self.start)}",
            f"module load {names}",
            f"for name in {names}; do {loaded} {failure}; exit 1 ;; esac; done",
        ]
