# SPDX-License-Identifier: Apache-2.0
"""The base of every check: the steps of a launch in ReFrame's pipeline."""

import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import required, run_after, run_before, sanity_function
from reframe.core.logging import getlogger
from reframe.core.meta import RegressionTestMeta

from fabricbench.campaign.attempts import finished_launches
from fabricbench.launch.session import FORECAST, session

from .metrics import MetricsBase

SELDOM = {"standard", "acceptance"}
"""The tiers of checks that are not part of ``make run``."""


@cache
def _finished(campaign: str, block: int) -> dict[str, str]:
    return finished_launches(Path(campaign), block)


class LaunchTest(MetricsBase, rfm.RunOnlyRegressionTest):
    """A launch of one program on one lane. ``tags`` are the tiers of ``fabricbench run`` that include it.

    Its bases form a line, leaf, lane, scale, ports, job, facts, metrics: ReFrame forbids two bases with a common
    variable.
    """

    valid_systems = ["+fabric"]
    valid_prog_environs = ["+mpi -local-shm"]  # ScaleBase adds the lanes of the variant where ranks share a node
    sourcesdir = None
    tags = {"quick", "standard", "acceptance"}
    env_vars = required  # with a default, ReFrame looks up its deprecated alias in every instance, 8 ms each

    @classmethod
    def loggable_attrs(cls) -> list[tuple[str, str | None]]:
        """Returns what ReFrame reads for every line of its log, without the deprecated alias of ``env_vars``.

        A forecast needs no log; reading them took two fifths of its time.
        """
        if FORECAST in os.environ:
            return []
        return [attribute for attribute in RegressionTestMeta.loggable_attrs(cls) if attribute[0] != "variables"]

    @run_after("init")
    def clear_variables(self) -> None:
        """Sets the required ``env_vars``; ``configure_job`` adds the lane's."""
        self.env_vars = {}

    @run_after("setup")
    def prepare(self) -> None:
        """Records a skip, skips a finished launch, or configures the job."""
        current, lane = session(), self.lane.name
        self.skip_if(bool(current.lanes) and lane not in current.lanes, "lane not chosen")
        if self.binding and self.binding == self.rank_binding:
            self.case = {**self.case, "binding": self.binding}
        if self.port:
            self.case = {**self.case, "port": self.port}
        if self.placement:
            self.case = {**self.case, "placement": self.placement}
        if self.distance:
            self.case = {**self.case, "distance": self.distance}
        self.adapt_to_lane()
        self.limit_seconds *= self.fabric.slowdown
        skip = self.lane_skip() or self.family_skip()
        self.family_skipped = skip is not None and bool(self.family)
        skip = skip or self.scale_skip() or self.distance_skip() or self.benchmark_skip() or self.sizes_skip()
        if skip is not None:
            self.record_skip(*skip)
            return
        finished = _finished(current.campaign, current.block)
        if self.launch_id in finished:
            self.skip_finished(finished[self.launch_id])
            return
        self.configure_job()

    def record_skip(self, reason: str, hint: str) -> None:
        """Records the reason why the launch cannot be measured here, and skips it."""
        self.write_skip(reason, hint)
        self.skip(f"{reason}; {hint}" if hint else reason)

    def skip_finished(self, directory: str) -> None:
        """Skips a launch that an earlier session finished in ``directory``."""
        shutil.rmtree(self.stagedir, ignore_errors=True)
        self.skip(f"finished earlier in {directory}")

    @run_before("run")
    def compose(self) -> None:
        """Composes the job script and writes the facts of the launch."""
        self.start()

    def start(self) -> None:
        """Composes the job, then writes ``launch.json``."""
        self.wrap()
        self.write_launch()

    @sanity_function
    def check_record(self) -> Any:
        """Checks exit status, completeness of the output, number of ranks and attestation, by the record."""
        return self.sanity_expression()

    def sanity_expression(self) -> Any:
        """Returns an expression that passes if the record is ok and else shows its reason."""
        record = self.record()
        if record.binding.problem:
            getlogger().warning(f"{self.lane.name}: not bound as requested: {record.binding.problem}")
        return sn.assert_true(record.state == "ok", msg=f"{self.lane.name}: {record.state}: {record.reason}")
