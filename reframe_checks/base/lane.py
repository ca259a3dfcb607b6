# SPDX-License-Identifier: Apache-2.0
"""The lane of a test case: its stack's launcher, paths and variables, or the skip where there is no stack."""

import shlex
from collections.abc import Sequence
from typing import Any

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.builtins import variable
from reframe.core.launchers import JobLauncher
from reframe.core.schedulers import Job

from fabricbench.site.lane import lane_pmi, lane_variables
from fabricbench.site.stacks import ONE_PORT, PORT_WORD, Installed
from fabricbench.site.transports import BINDINGS

SRUN_BINDING = {"core": "cores", "numa": "ldoms", "socket": "sockets"}


class SlurmSteps(JobLauncher):
    """Slurm's launcher: so many ranks on so many nodes, ended as a whole when one rank fails. ReFrame's own asks srun
    for its version at every test, which takes a minute where no Slurm answers."""

    def __init__(self, pmi: str, nodes: int, ranks: int, binding: str) -> None:
        self.options = [
            *((f"--mpi={shlex.quote(pmi)}",) if pmi else ()),
            *(f"--nodes={nodes}", f"--ntasks={ranks}", f"--ntasks-per-node={per_node(ranks, nodes)}"),
            # Consecutive ranks share a node, so that rank i and rank i + n/2 work across two nodes.
            *(("--distribution=block",) if nodes > 1 else ()),
            *((f"--cpu-bind={SRUN_BINDING[binding]}",) if binding in SRUN_BINDING else ()),
            *("--kill-on-bad-exit=1", "--input=none"),
        ]

    def command(self, job: Job) -> list[str]:
        return ["srun"]


def per_node(ranks: int, nodes: int) -> int:
    """Most ranks that a node gets where they are spread evenly."""
    return -(-ranks // nodes)


def _own(launcher: JobLauncher, installed: Installed, options: list[str]) -> JobLauncher:
    """The stack's own mpirun by its path: a stack that vanishes must not start through another's on PATH."""
    launcher.options = [shlex.quote(option) for option in options]
    command = launcher.command

    def absolute(job: Job) -> list[str]:
        return [f"{installed.prefix}/bin/mpirun" if word == "mpirun" else word for word in command(job)]

    launcher.command = absolute
    return launcher


class LaneMixin(rfm.RegressionTestPlugin):
    """Sets a test case up on its lane. Needs partitions and environments as fabricbench.site.settings makes them."""

    binding = variable(str, value="", loggable=True)
    """What each rank is bound to; empty: what the fabric says."""
    port = variable(str, value="", loggable=True)
    """The port of the fabric that all ranks are to use; empty: whatever site and stack do."""
    threaded = False
    """Ranks have threads, which would share what a rank is bound to: they are left to the program."""
    oversubscribed = False
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

    def lane_skip(self) -> tuple[str, str] | None:
        """Why this lane cannot run here, and the hint; None where it can."""
        if without := self.stack_facts["without"].get(self.fabric_facts["transport"]):
            reason, hint = without
            return reason, hint
        if self.stack_facts["missing"]:
            return self.stack_facts["missing"], self.stack_facts["hint"]
        return self._binding_skip() or self._port_skip()

    def _binding_skip(self) -> tuple[str, str] | None:
        asked, stack = self.asked_binding, self.stack_facts["stack"]
        if asked == "none":
            return None
        if asked not in BINDINGS:
            return f"ranks cannot be bound to '{asked[:40]}'", f"choose one of {', '.join(BINDINGS)}"
        if self.oversubscribed:
            return f"more ranks than cores: none can have a {asked} of its own", "ask for no binding"
        if self.fabric_facts["launcher"] == "srun" or asked in self.stack_facts["binding"]:
            return None
        return f"no options that bind {stack}'s ranks to a {asked}", f"add them to {stack} in site/stacks.py (binding)"

    def _port_skip(self) -> tuple[str, str] | None:
        stack, fabric, named = self.stack_facts["stack"], self.fabric_facts["fabric"], self.fabric_facts["ports"]
        if not self.port:
            return None
        if self.stack_facts["level"] != "mpi":
            what = f"programs of {stack} listen at an address, and are told no port"
            return what, "give the port a fabric of its own, with its address (addresses=…)"
        if not named:
            return f"the fabric {fabric} names no ports", "name them: fabric(…, ports=[…]) in the site's settings.py"
        if self.port not in named:
            return f"the fabric {fabric} has no port '{self.port[:40]}'", f"choose one of {', '.join(named)}"
        if not self.names_one_port:
            what = f"no settings that hold {stack} to one port on {self.fabric_facts['transport']}"
            return what, f"add them to {stack} in site/stacks.py (rails)"
        return None

    @property
    def rails_settings(self) -> dict[str, dict[str, str]]:
        """The stack's settings on this transport for each way to use several ports; names are not filled in."""
        return dict(self.stack_facts["rails"].get(self.fabric_facts["transport"], {}))

    @property
    def names_one_port(self) -> bool:
        """Whether the stack can be told which port to use alone."""
        return any(PORT_WORD in value for value in self.rails_settings.get(ONE_PORT, {}).values())

    @property
    def way(self) -> tuple[str, Sequence[str]] | None:
        """Which of the ways to use ports (``site.stacks.RAILS``) holds, and for which; None: as the site says."""
        return (ONE_PORT, [self.asked_port]) if self.asked_port else None

    def _way_variables(self) -> dict[str, str]:
        """The stack's settings for the way, filled in."""
        if self.way is None:
            return {}
        way, ports = self.way
        words = {"{rails}": str(self.fabric_facts["rails"]), "{ports}": ",".join(ports), PORT_WORD: "".join(ports[:1])}
        settings = self.rails_settings[way]
        for word, value in words.items():
            settings = {name: text.replace(word, value) for name, text in settings.items()}
        return settings

    @property
    def asked_port(self) -> str:
        """The one port that the ranks are told to use; empty where they are told none."""
        return str(self.port)

    @property
    def asked_binding(self) -> str:
        """What each rank is bound to: the check's word, else the fabric's where each rank can have a core.

        None below MPI, and where ranks have threads of their own.
        """
        if self.stack_facts["level"] != "mpi" or self.threaded or (self.oversubscribed and not self.binding):
            return "none"
        return str(self.binding or self.fabric_facts["binding"])

    def lane_variables(self) -> dict[str, str]:
        """The variables of the lane, by which its programs run; those for the way to use ports win."""
        return (
            lane_variables(self.fabric_facts, self.stack_facts, oversubscribed=self.oversubscribed)
            | self._way_variables()
        )

    @property
    def nodes(self) -> int:
        """Over how many nodes the ranks are spread: the fabric's number, as far as they go."""
        return min(int(self.fabric_facts["nodes"]), int(self.ranks))

    def lane_launcher(self) -> JobLauncher:
        """The fabric's launcher where it is the scheduler's, with the stack's PMI; else the stack's own."""
        pmi = lane_pmi(self.fabric_facts, self.stack_facts)
        if pmi is not None:
            return SlurmSteps(pmi, self.nodes, int(self.ranks), self.asked_binding)
        options = self.stack_facts["binding"].get(self.asked_binding, [])
        return _own(getlauncher(self.stack_facts["launcher"])(), self.installed, options)

    def enter_lane(self) -> None:
        """Point launcher, paths and variables at the stack. Values never reach the shell unquoted."""
        installed = self.installed
        self.job.launcher = self.lane_launcher()
        variables = self.lane_variables()
        variables.pop("LD_PRELOAD", None)  # stands before the program, never on the launcher
        self.env_vars = {name: shlex.quote(value) for name, value in variables.items()}
        if not installed.programs:
            self.env_vars["PATH"] = f"{shlex.quote(installed.prefix + '/bin')}:$PATH"
        if installed.library_path:
            paths = ":".join(shlex.quote(path) for path in installed.library_path)
            self.env_vars["LD_LIBRARY_PATH"] = f"{paths}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
