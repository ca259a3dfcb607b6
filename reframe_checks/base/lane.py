# SPDX-License-Identifier: Apache-2.0
"""The lane of a test case: its stack's launcher, paths and variables, or the gap where there is no stack."""

import shlex
from typing import Any

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.launchers import JobLauncher
from reframe.core.schedulers import Job

from fabricbench.core.stacks import Installed


def _own(launcher: JobLauncher, installed: Installed) -> JobLauncher:
    """The stack's own mpirun by its path: a stack that vanishes must not start through another's on PATH."""
    command = launcher.command

    def absolute(job: Job) -> list[str]:
        return [f"{installed.prefix}/bin/mpirun" if word == "mpirun" else word for word in command(job)]

    launcher.command = absolute
    return launcher


class LaneMixin(rfm.RegressionTestPlugin):
    """Sets a test case up on its lane. Needs partitions and environments as fabricbench.core.site makes them."""

    crowded = False
    """More ranks than cores: the stack is told to yield."""

    @property
    def fabric_facts(self) -> dict[str, Any]:
        """What the site says of the fabric."""
        return self.current_partition.extras

    @property
    def stack_facts(self) -> dict[str, Any]:
        """What the site says of the stack."""
        return self.current_environ.extras

    @property
    def installed(self) -> Installed:
        """The stack as set-up found it."""
        return Installed.model_validate(self.stack_facts["installed"])

    def lane_gap(self) -> tuple[str, str] | None:
        """Why this lane cannot run here, and the cure; None where it can."""
        if without := self.stack_facts["without"].get(self.fabric_facts["transport"]):
            reason, cure = without
            return reason, cure
        if self.stack_facts["missing"]:
            return self.stack_facts["missing"], self.stack_facts["cure"]
        return None

    def lane_variables(self) -> dict[str, str]:
        """The variables of the lane: the stack's for the transport, then the site's, which win."""
        return {
            **self.stack_facts["variables"][self.fabric_facts["transport"]],
            **(self.stack_facts["crowded"] if self.crowded else {}),
            **self.fabric_facts["site_variables"],
        }

    def enter_lane(self) -> None:
        """Point launcher, paths and variables at the stack. Values never reach the shell unquoted."""
        installed = self.installed
        self.job.launcher = _own(getlauncher(self.stack_facts["launcher"])(), installed)
        self.env_vars = {name: shlex.quote(value) for name, value in self.lane_variables().items()}
        if not installed.programs:
            self.env_vars["PATH"] = f"{shlex.quote(installed.prefix + '/bin')}:$PATH"
        if installed.library_path:
            paths = ":".join(shlex.quote(path) for path in installed.library_path)
            self.env_vars["LD_LIBRARY_PATH"] = f"{paths}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
