# SPDX-License-Identifier: Apache-2.0
"""A launch: its facts before the start, the launch wrapper and the witness around it, its record as the sanity."""

import itertools
import os
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from pydantic import BaseModel
from reframe.core.builtins import required, run_after, run_before, sanity_function, variable
from reframe.core.logging import getlogger

from fabricbench.campaign.attempts import finished_launches
from fabricbench.campaign.collect import collect
from fabricbench.campaign.write import open_single
from fabricbench.files.writing import write_json
from fabricbench.launch.facts import (
    Expected,
    Launch,
    OmittedSizes,
    SkippedLaunch,
    WireUp,
    canonical_case,
    inherited_variables,
)
from fabricbench.launch.record import Record
from fabricbench.site.lane import lane_name
from fabricbench.site.settings import FORECAST
from fabricbench.site.spack import package_of

from .lane import LaneMixin, per_node
from .metrics import MetricsMixin

SELDOM = {"standard", "acceptance"}
"""The tiers of what ``make run`` has no time for."""
WAIT_FOR_LOCK_SECONDS, STARTING_SECONDS = 3600, 60
LARGEST_REPORTED_BY_RANK = 64
"""Beyond so many ranks there is one witness file for each node, and not for each rank."""
NODE_DIRECTORY = "/tmp"
"""A directory that each node has for itself, where its ranks' reports meet."""
_positions = itertools.count()
_version = cache(metadata.version)


@cache
def _finished(campaign: str, block: int) -> dict[str, str]:
    return finished_launches(Path(campaign), block)


class LaunchTest(LaneMixin, MetricsMixin, rfm.RunOnlyRegressionTest):
    """The base of every check: what runs comes from the leaf, everything else is here.

    A leaf names ``tool``, ``benchmark``, ``program``, ``arguments`` and ``expected``; ``tags`` are the tiers of
    ``fabricbench run`` that it belongs to.
    """

    valid_systems = ["+fabric"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    tags = {"quick", "standard", "acceptance"}
    tool = variable(str, loggable=True)
    benchmark = variable(str, loggable=True)
    mode = variable(str, value="timed", loggable=True)
    ranks = variable(int, value=2, loggable=True)
    limit_seconds = variable(float, value=120.0)
    env_vars = required  # with a default, ReFrame walks the stack for its deprecated alias at every instance: 8 ms
    case: dict[str, Any] = {}
    family = ""
    """Where no check of a family can run on a lane, their skips are the same, and count as one: the family's."""
    stands_for_family = False

    def program(self) -> str:
        """Path of the executable."""
        raise NotImplementedError

    def arguments(self) -> list[str]:
        """Its arguments, unquoted."""
        raise NotImplementedError

    def runs(self) -> int:
        """How often the programs are started."""
        return 1

    def expected(self) -> Iterator[Expected]:
        """The rows that the launch must yield."""
        return iter(())

    def family_skip(self) -> tuple[str, str] | None:
        """Why none of this family can run on a lane that can, and the hint."""
        return None

    def benchmark_skip(self) -> tuple[str, str] | None:
        """Why this benchmark cannot run on a lane that can, and the hint."""
        return None

    def left_out(self) -> OmittedSizes | None:
        """Sizes that this launch cannot measure on its nodes."""
        return None

    def applies(self) -> bool:
        """Whether the fabric has what this check is about; where it has not, no requirement waits for it."""
        return True

    def planned(self) -> tuple[Expected, ...]:
        """The rows that a skip keeps from being measured, each with its case, sizes that were left out included."""
        left = self.left_out()
        more = left.msg_sizes_bytes if left else ()
        rows = []
        for item in self.expected() if self.mode == "timed" else ():
            sizes = None if item.msg_sizes_bytes is None else (*item.msg_sizes_bytes, *more)
            case = canonical_case(self.case) if item.case is None else item.case
            rows.append(item.model_copy(update={"case": case, "msg_sizes_bytes": sizes}))
        return tuple(rows)

    def tool_versions(self) -> dict[str, str]:
        """Versions of what runs, beyond those of the stack and of this project."""
        return {}

    def spec_hash(self) -> dict[str, str] | None:
        """Spack's hashes of the stack and of the package that the program is from; None where it built neither."""
        package = package_of(Path(self.program()))
        return {**self.installed.spec_hash, **({package.name: package.hash} if package else {})} or None

    def wireup_facts(self) -> WireUp | None:
        """The lane's wire-up, which attestation subtracts."""
        return None

    @property
    def message_class(self) -> str | None:
        """Small or large, where the benchmark tells them apart."""
        return None if self.stands_for_family else getattr(self, "messages", None)

    @property
    def named_case(self) -> str:
        """The case as in the table; a family has none."""
        return "" if self.stands_for_family else canonical_case(self.case)

    @property
    def launch_id(self) -> str:
        """What this launch is within its campaign, however often it is tried."""
        session = self.fabric_facts["session"]
        lane = lane_name(self.stack_facts["stack"], self.fabric_facts["fabric"])
        parts = [
            self.tool,
            self.benchmark,
            self.message_class or "",
            self.named_case,
            f"np={self.ranks}",
        ]
        return f"b{session['block']:03d} {lane} " + " ".join(part for part in parts if part)

    @property
    def by_node(self) -> bool:
        """Whether each node tells of itself and its ranks: daemons start them, or they are many."""
        foreign = self.fabric_facts["launcher"] == "srun" or self.ranks > LARGEST_REPORTED_BY_RANK
        return self.stack_facts["level"] == "mpi" and foreign

    @classmethod
    def loggable_attrs(cls) -> list[tuple[str, str | None]]:
        """ReFrame reads them for every line that it logs: not the deprecated alias of ``env_vars``, see there."""
        return [found for found in type(cls).loggable_attrs(cls) if found[0] != "variables"]

    @property
    def leaves_facts(self) -> bool:
        """Not where ReFrame only looks, unless ``fabricbench run --dry-run`` asks for them."""
        return not self.is_dry_run() or FORECAST in os.environ

    @run_after("init")
    def start_without_variables(self) -> None:
        """The lane adds its own."""
        self.env_vars = {}

    @run_after("setup")
    def prepare(self) -> None:
        """Leave a skip, leave what is finished alone, or set the launch up."""
        session = self.fabric_facts["session"]
        lane = lane_name(self.stack_facts["stack"], self.fabric_facts["fabric"])
        self.skip_if(bool(session["lanes"]) and lane not in session["lanes"], "lane not chosen")
        if self.binding and self.binding == self.asked_binding:
            self.case = {**self.case, "binding": self.binding}
        if self.port:
            self.case = {**self.case, "port": self.port}
        self.meet_lane()
        skip = self.lane_skip() or self.family_skip()
        self.stands_for_family = skip is not None and bool(self.family)
        skip = skip or self.benchmark_skip()
        if skip is not None:
            self.record_skip(*skip)
            return
        done = _finished(session["campaign"], session["block"])
        if self.launch_id in done:
            self.adopt(done[self.launch_id])
            return
        self.num_tasks, self.num_tasks_per_node = self.ranks, per_node(self.ranks, self.nodes)
        self.exclusive_access = self.fabric_facts["exclusive"]
        self.enter_lane()

    def meet_lane(self) -> None:
        """What a check decides by its lane, before anything else."""

    def adopt(self, directory: str) -> None:
        """This launch was finished in an earlier session: it is not repeated."""
        shutil.rmtree(self.stagedir, ignore_errors=True)
        self.skip(f"finished earlier in {directory}")

    @run_before("run")
    def compose(self) -> None:
        """What the job script runs."""
        self.wrap()

    def wrap(self) -> None:
        """The wrapper around the launcher, the witness in front of the program: never the other way round."""
        local = self.current_partition.scheduler.registered_name == "local"
        self.job.launcher.modifier = shlex.quote(f"{self.installed.apps}/bin/fabricbench-launch")
        self.job.launcher.modifier_options = [
            *("--dir", shlex.quote(self.stagedir), "--limit", f"{self.limit_seconds:g}"),
            *(("--lock", shlex.quote(self.fabric_facts["lock"])) if self.fabric_facts["scheduler"] == "local" else ()),
            *(("--watch", str(os.getpid())) if local else ()),
            *(("--host", "no") if self.by_node else ()),
            "--",
        ]
        self.time_limit = f"{int(self.limit_seconds) + (WAIT_FOR_LOCK_SECONDS if local else STARTING_SECONDS)}s"
        self.executable, *self.executable_opts = [shlex.quote(word) for word in self.command()]
        if self.leaves_facts:
            self._leave("launch.json", self._facts())

    @sanity_function
    def came_back_attested(self) -> Any:
        """Every trap in one place: exit status, complete output, world size, attestation."""
        return self.verdict()

    def verdict(self) -> Any:
        """Passes where the record is ok, and says why where it is not."""
        record = self.record()
        lane = lane_name(self.stack_facts["stack"], self.fabric_facts["fabric"])
        if record.binding.problem:
            getlogger().warning(f"{lane}: not bound as asked: {record.binding.problem}")
        return sn.assert_true(record.state == "ok", msg=f"{lane}: {record.state}: {record.reason}")

    def record(self) -> Record:
        """The record of this launch, derived once."""
        if (record := getattr(self, "_record", None)) is None:
            directory = Path(self.stagedir)
            record = collect(directory, directory.relative_to(Path(self.campaign) / "launches").as_posix())
            self._record = record
        return record

    @property
    def campaign(self) -> str:
        """The campaign's directory."""
        return str(self.fabric_facts["session"]["campaign"])

    def command(self) -> list[str]:
        """What the launcher starts: the program behind the witness, or a pair of programs, each behind its own."""
        witness = f"{self.installed.apps}/lib/libfabricbench_witness.so"
        libraries = ":".join([witness, *self.lane_variables().get("LD_PRELOAD", "").split(":")]).rstrip(":")
        if self.by_node:
            node = [f"{self.installed.apps}/bin/fabricbench-node", "--dir", self.stagedir, "--witness", libraries]
            gather = ["--gather", NODE_DIRECTORY] if self.ranks > LARGEST_REPORTED_BY_RANK else []
            return [*node, "--expect", str(self.ranks), *gather, "--", self.program(), *self.arguments()]
        expect = f"FABRICBENCH_EXPECT_RANKS={self.ranks}"
        preload = ["env", f"LD_PRELOAD={libraries}", f"FABRICBENCH_WITNESS_DIR={self.stagedir}", expect]
        if self.stack_facts["level"] == "mpi":
            return [*preload, self.program(), *self.arguments()]
        words: list[str] = [self.program()]
        for word in self.arguments():
            words += [word, *preload] if word in ("--", "::") else [word]
        return words

    def _leave(self, name: str, facts: BaseModel) -> None:
        file = Path(self.stagedir) / name
        if FORECAST in os.environ:  # read once and gone: it need not reach the disk
            file.write_text(facts.model_dump_json())
        else:
            write_json(file, facts.model_dump(mode="json"))

    def _facts(self) -> Launch:
        session = self.fabric_facts["session"]
        open_single(Path(self.campaign), Path(self.fabric_facts["site"]), session["seed"])
        return Launch(
            id=self.launch_id,
            block=session["block"],
            position=next(_positions),
            system=self.current_system.name,
            fabric=self.fabric_facts["fabric"],
            transport=self.fabric_facts["transport"],
            stack=self.stack_facts["stack"],
            tool=self.tool,
            benchmark=self.benchmark,
            messages=self.message_class,
            case=self.case,
            ranks=self.ranks,
            nodes=self.nodes,
            binding=self.asked_binding,
            ports=tuple(self.fabric_facts["ports"]),
            port=self.asked_port,
            exclusive=self.fabric_facts["exclusive"],
            runs=self.runs(),
            mode=self.mode,
            argv=(self.program(), *self.arguments()),
            environment=inherited_variables() | self.lane_variables(),
            versions={
                self.stack_facts["stack"]: self.installed.version,
                "fabricbench": _version("fabricbench"),
                "reframe": _version("reframe-hpc"),
                **self.tool_versions(),
            },
            spec_hash=self.spec_hash(),
            limit_seconds=self.limit_seconds,
            attestation=self.fabric_facts["attestation"],
            wireup=self.wireup_facts(),
            expected=tuple(self.expected()),
            left_out=self.left_out(),
        )

    def record_skip(self, reason: str, hint: str) -> None:
        """Name what cannot be measured here, and skip it."""
        if self.leaves_facts:
            session = self.fabric_facts["session"]
            open_single(Path(self.campaign), Path(self.fabric_facts["site"]), session["seed"])
            planned = self.planned()
            if self.stands_for_family:
                self.benchmark = self.family
            skip = SkippedLaunch(
                id=self.launch_id,
                block=session["block"],
                system=self.current_system.name,
                fabric=self.fabric_facts["fabric"],
                stack=self.stack_facts["stack"],
                tool=self.tool,
                benchmark=f"{self.benchmark} {self.named_case}".strip(),
                messages=self.message_class,
                ranks=self.ranks,
                nodes=self.nodes,
                expected=planned,
                applies=self.applies(),
                reason=reason,
                hint=hint,
            )
            self._leave("skipped.json", skip)
        self.skip(f"{reason}; {hint}" if hint else reason)
