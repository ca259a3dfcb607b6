# SPDX-License-Identifier: Apache-2.0
"""The facts that a launch or a skip leaves in its directory before it starts: ``launch.json``, ``skipped.json``."""

import itertools
import os
from functools import cache
from importlib import metadata
from pathlib import Path

from pydantic import BaseModel

from fabricbench.campaign.write import open_single
from fabricbench.files.writing import write_json
from fabricbench.launch.facts import Launch, SkippedLaunch, inherited_variables
from fabricbench.launch.session import FORECAST, session
from fabricbench.site.spack import package_of

from .job import JobBase
from .lane import system

_positions = itertools.count()
_version = cache(metadata.version)


class FactsBase(JobBase):
    """Writes the facts of a launch and of a skip."""

    @property
    def launch_id(self) -> str:
        """The identity of the launch in its campaign, the same for each attempt."""
        nodes = "" if self.nodes == min(self.fabric.nodes.count, self.ranks) else f"nodes={self.nodes}"
        words = (self.tool, self.recorded_benchmark, self.message_class, self.named_case, f"np={self.ranks}", nodes)
        return " ".join([f"b{session().block:03d}", self.lane.name, *(word for word in words if word)])

    def spec_hash(self) -> dict[str, str] | None:
        """Returns Spack's hashes of the stack and of the program's package; None if Spack built neither."""
        package = package_of(Path(self.program()))
        return {**self.installed.spec_hash, **({package.name: package.hash} if package else {})} or None

    def module_variables(self) -> dict[str, str]:
        """Returns the variables of MPI stacks that the stack's modules set."""
        return self.installed.modules.variables if self.installed.modules else {}

    @property
    def writes_facts(self) -> bool:
        """Whether facts are written: in every run, and in the dry runs of ``fabricbench run --dry-run``."""
        return not self.is_dry_run() or FORECAST in os.environ

    def write_launch(self) -> None:
        """Writes ``launch.json``."""
        if self.writes_facts:
            self._write("launch.json", self._launch())

    def write_skip(self, reason: str, hint: str) -> None:
        """Writes ``skipped.json``."""
        if self.writes_facts:
            self._write("skipped.json", self._skipped(reason, hint))

    def _write(self, name: str, facts: BaseModel) -> None:
        is_forecast = FORECAST in os.environ  # which deletes the file
        write_json(Path(self.stagedir) / name, facts.model_dump(mode="json"), sync=not is_forecast)

    def _open_campaign(self) -> None:
        """Creates the campaign if ReFrame was started without ``fabricbench run``."""
        open_single(Path(session().campaign), system().folder, session().seed)

    def _launch(self) -> Launch:
        self._open_campaign()
        wireup = self.wireup_facts()
        return Launch(
            id=self.launch_id,
            block=session().block,
            position=next(_positions),
            system=self.current_system.name,
            fabric=self.fabric.name,
            transport=self.fabric.transport,
            stack=self.stack.name,
            variant=self.lane.variant,
            tool=self.tool,
            benchmark=self.benchmark,
            messages=self.message_class,
            case=self.case,
            ranks=self.ranks,
            nodes=self.nodes,
            binding=self.rank_binding,
            placement=self.rank_placement,
            node_pool=self.node_pool,
            nodelist=self.node_choice,
            node_rule=self.node_rule,
            distance=self.node_distance,
            switches=self.chosen_switches,
            ports=tuple(self.fabric.ports),
            port=self.selected_port,
            exclusive=self.fabric.scheduler.exclusive,
            reduces_in_network=self.fabric.reduces_in_network,
            runs=self.runs(),
            mode=self.mode,
            profiler=self.profiler_name,
            injected=self.injection,
            argv=(self.program(), *self.arguments()),
            environment=inherited_variables() | self.module_variables() | self.lane_variables(),
            versions={
                self.stack.name: self.installed.version,
                "fabricbench": _version("fabricbench"),
                "reframe": _version("reframe-hpc"),
                **self.tool_versions(),
            },
            spec_hash=self.spec_hash(),
            stack_prefix=self.installed.prefix if self.installed.is_external else "",
            modules=self.installed.modules.names if self.installed.modules else (),
            target=self.target(),
            limit_seconds=self.limit_seconds,
            attestation=self.fabric.attestation,
            function_only=self.fabric.function_only,
            wireup=wireup,
            wireup_problem="" if wireup else self.wireup_problem(),
            expected=tuple(self.expected()),
            left_out=self.omitted_sizes(),
        )

    def _skipped(self, reason: str, hint: str) -> SkippedLaunch:
        self._open_campaign()
        return SkippedLaunch(
            id=self.launch_id,
            block=session().block,
            system=self.current_system.name,
            fabric=self.fabric.name,
            stack=self.stack.name,
            variant=self.lane.variant,
            tool=self.tool,
            benchmark=f"{self.recorded_benchmark} {self.named_case}".strip(),
            messages=self.message_class,
            ranks=self.ranks,
            nodes=self.nodes,
            expected=self.planned(),
            applies=self.applies(),
            reason=reason,
            hint=hint,
        )
