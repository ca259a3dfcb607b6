# SPDX-License-Identifier: Apache-2.0
"""What a lane's sockets carry when nothing is sent: Init and Finalize alone, or a pair that only meets; once a lane."""

from pathlib import Path
from typing import Any

import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher

from fabricbench.campaign.attempts import loss_reason
from fabricbench.campaign.collect import collect
from fabricbench.campaign.write import came_back
from fabricbench.launch.facts import WireUp
from fabricbench.site.stacks import handshake_at

from .launch import LaunchTest


class WireUpLaunch(LaunchTest):
    """A fixture of every benchmark.

    It never skips and never fails: either would take its benchmarks along, which have reasons of their own. Where
    nothing is to be measured, because the lane is a skip or an earlier session has measured it, ``true`` stands in.
    """

    tool = "micro"
    benchmark = "wireup"
    mode = "wireup"
    limit_seconds = 30.0
    pair_limit_seconds = 120.0  # it starts two programs for every size
    standing_in = False
    measured_in: str | None = None

    def meet_lane(self) -> None:
        if self.stack_facts["level"] == "user":
            self.tool, self.limit_seconds = "pair", self.pair_limit_seconds

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-{self.tool}"

    def arguments(self) -> list[str]:
        handshake = self.stack_facts["handshake"]
        return handshake_at(handshake, self.fabric_facts["addresses"][0]) if handshake else ["wireup"]

    @property
    def launch_id(self) -> str:
        return super().launch_id.partition(" ")[2]

    def record_skip(self, reason: str, hint: str) -> None:
        self.standing_in = True

    def adopt(self, directory: str) -> None:
        self.standing_in, self.measured_in = True, directory

    def wrap(self) -> None:
        if self.standing_in:
            self.job.launcher = getlauncher("local")()
            self.executable, self.executable_opts = "true", []
        else:
            super().wrap()
            self.measured_in = self.stagedir

    def verdict(self) -> Any:
        if not self.standing_in:
            self.record()
        return sn.assert_true(True)

    def show(self) -> None:
        """Nothing: a wire-up has no metric."""

    @property
    def came_back(self) -> bool:
        """Whether the wire-up ended and was not lost, in this session or an earlier one, however it ended."""
        return (
            self.measured_in is not None
            and came_back(Path(self.measured_in))
            and not loss_reason(Path(self.measured_in))
        )

    def measured(self) -> WireUp | None:
        """Bytes and segments of the wire-up; None where no rank reported any."""
        if self.measured_in is None or not self.came_back:
            return None
        directory = Path(self.measured_in)
        record = collect(directory)
        if record.attestation is None or record.attestation.traffic is None:
            return None
        name = directory.relative_to(Path(self.campaign) / "launches").as_posix()
        traffic = record.attestation.traffic
        return WireUp(
            launch=name,
            ranks=self.ranks,
            runs=record.launch.runs if record.launch else 1,
            bytes=traffic.bytes,
            segments=traffic.segments,
            udp_sockets=traffic.udp_sockets,
            unix_sockets=traffic.unix_sockets,
            devices=traffic.devices,
        )
