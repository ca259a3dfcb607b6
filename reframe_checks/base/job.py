# SPDX-License-Identifier: Apache-2.0
"""The job of a launch: the launch wrapper around the launcher, the witness in each process of the program."""

import os
import shlex

from fabricbench.launch.session import lock_file

from .launchers import launcher_of
from .ports import PortsBase

WAIT_FOR_LOCK_SECONDS, STARTING_SECONDS = 3600, 60
LARGEST_REPORTED_BY_RANK = 64
"""The largest number of ranks with one witness report each; launches with more ranks have one report per node."""
NODE_DIRECTORY = "/tmp"
"""A directory local to each node, in which the reports of its ranks are gathered."""


class JobBase(PortsBase):
    """Composes the job of a launch."""

    @property
    def witness_by_node(self) -> bool:
        """Whether each node writes one witness report: for ranks that daemons start, and for many ranks."""
        by_node = self.fabric.scheduler.launcher == "srun" or self.ranks > LARGEST_REPORTED_BY_RANK
        return self.stack.level == "mpi" and by_node

    def configure_job(self) -> None:
        """Sets the launcher, the paths and the variables of the lane. Values reach the shell quoted."""
        installed = self.installed
        layout = self.layout
        self.num_tasks, self.num_tasks_per_node = layout.ranks, layout.per_node
        self.exclusive_access = self.fabric.scheduler.exclusive
        self.job.launcher = launcher_of(self.lane, layout)
        variables = self.lane_variables()
        variables.pop("LD_PRELOAD", None)  # for the program only, not for the launcher
        self.env_vars = {name: shlex.quote(value) for name, value in variables.items()}
        if not installed.programs:
            self.env_vars["PATH"] = f"{shlex.quote(installed.prefix + '/bin')}:$PATH"
        if installed.library_path:
            paths = ":".join(shlex.quote(path) for path in installed.library_path)
            self.env_vars["LD_LIBRARY_PATH"] = f"{paths}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"

    def load_modules(self) -> None:
        """Puts the commands that load the stack's modules into the job script, before the variables of the lane.

        ReFrame would set the variables first, and a module may change them. If a module cannot be loaded, the launch
        wrapper runs a command that prints the reason, and the job ends: the launch is recorded as one that could not
        be started.
        """
        modules = self.installed.modules
        if modules is None:
            return
        wrapper = " ".join([self.job.launcher.modifier, *self.job.launcher.modifier_options])
        reason = f'"the module $name of the stack {self.stack.name} cannot be loaded on $(hostname)"'
        failure = f"""{wrapper} sh -c 'echo "$1" >&2; exit 127' sh {reason}"""
        exports = [f"export {name}={value}" for name, value in self.env_vars.items()]
        self.prerun_cmds = [*modules.commands(failure), *exports]
        self.env_vars = {}

    def wrap(self) -> None:
        """Puts the launch wrapper in front of the launcher, and the witness in front of the program."""
        local = self.current_partition.scheduler.registered_name == "local"
        self.job.launcher.modifier = shlex.quote(f"{self.installed.apps}/bin/fabricbench-launch")
        self.job.launcher.modifier_options = [
            *("--dir", shlex.quote(self.stagedir), "--limit", f"{self.limit_seconds:g}"),
            *(("--lock", shlex.quote(lock_file())) if self.fabric.scheduler.is_local else ()),
            *(("--watch", str(os.getpid())) if local else ()),
            *(("--host", "no") if self.witness_by_node or self.lane.pmi is not None else ()),
            "--",
        ]
        self.time_limit = f"{int(self.limit_seconds) + (WAIT_FOR_LOCK_SECONDS if local else STARTING_SECONDS)}s"
        self.executable, *self.executable_opts = [shlex.quote(word) for word in self.command()]
        self.load_modules()

    def command(self) -> list[str]:
        """Returns the command that the launcher starts: the program, or server and client, each behind the witness."""
        libraries = ":".join(self.preloaded_libraries())
        if self.witness_by_node:
            node = [f"{self.installed.apps}/bin/fabricbench-node", "--dir", self.stagedir, "--witness", libraries]
            gather = ["--gather", NODE_DIRECTORY] if self.ranks > LARGEST_REPORTED_BY_RANK else []
            return [*node, "--expect", str(self.ranks), *gather, "--", self.program(), *self.arguments()]
        expect = f"FABRICBENCH_EXPECT_RANKS={self.ranks}"
        preload = ["env", f"LD_PRELOAD={libraries}", f"FABRICBENCH_WITNESS_DIR={self.stagedir}", expect]
        if self.stack.level == "mpi":
            return [*preload, self.program(), *self.arguments()]
        # Where srun starts server and client, fabricbench-node writes the facts of their nodes.
        by_srun = [f"{self.installed.apps}/bin/fabricbench-node", "--dir", self.stagedir, "--"] if self.lane.pmi else []
        words = [*by_srun, self.program()]
        for word in self.arguments():
            words += [word, *preload] if word in ("--", "::") else [word]
        return words

    def preloaded_libraries(self) -> list[str]:
        """Returns the libraries that each process of the program preloads: the witness, then those of the lane."""
        lane = self.lane_variables().get("LD_PRELOAD", "").split(":")
        return [f"{self.installed.apps}/lib/libfabricbench_witness.so", *filter(None, lane)]
