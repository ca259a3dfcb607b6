# SPDX-License-Identifier: Apache-2.0
"""The traffic of a lane without messages: MPI_Init and MPI_Finalize, or a handshake. Measured once per lane."""

from pathlib import Path
from typing import Any

import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher

from fabricbench.campaign.attempts import loss_reason
from fabricbench.campaign.collect import collect
from fabricbench.campaign.write import has_completed
from fabricbench.launch.facts import WireUp
from fabricbench.launch.session import session
from fabricbench.parsers.tools.micro.description import TOOL, WIREUP

from .launch import LaunchTest

CLIENT_SERVER_TOOL = "pair"
"""The tool of a client and a server in the id of a wire-up. The word stays, so that the ids of old campaigns match."""


class WireUpLaunch(LaunchTest):
    """A fixture of every benchmark.

    It never skips and never fails, because ReFrame would then drop its benchmarks, which record reasons of their own.
    If the lane is skipped, or an earlier session measured it, the job runs ``true`` instead. A wire-up that failed is
    measured again in the next session.
    """

    tool = TOOL
    benchmark = WIREUP
    mode = "wireup"
    limit_seconds = 30.0
    client_server_limit_seconds = 120.0  # it starts a server and a client for each size
    runs_nothing = False
    directory: str | None = None
    """The directory of the launch that measured the wire-up; None if there is none."""

    def apply_scale(self) -> None:
        """Keeps the two ranks of the wire-up, whatever scale a user sets for all checks."""

    def adapt_to_lane(self) -> None:
        if self.stack.level == "user":
            self.tool, self.limit_seconds = CLIENT_SERVER_TOOL, self.client_server_limit_seconds

    def program(self) -> str:
        name = "client-server" if self.stack.level == "user" else "micro"
        return f"{self.installed.apps}/bin/fabricbench-{name}"

    def arguments(self) -> list[str]:
        return list(self.lane.handshake or [WIREUP])

    @property
    def launch_id(self) -> str:
        """The identity without the block: a campaign has one wire-up per lane."""
        return super().launch_id.partition(" ")[2]

    def record_skip(self, reason: str, hint: str) -> None:
        """Records nothing: the benchmarks of the lane record the skip."""
        self.runs_nothing = True

    def skip_finished(self, directory: str) -> None:
        """Uses the wire-up that an earlier session measured in ``directory``; repeats it if that one failed."""
        self.directory = directory
        if self.traffic() is None:
            self.configure_job()
        else:
            self.runs_nothing = True

    def start(self) -> None:
        if self.runs_nothing:
            self.job.launcher = getlauncher("local")()
            self.executable, self.executable_opts = "true", []
        else:
            super().start()
            self.directory = self.stagedir

    def sanity_expression(self) -> Any:
        """Derives the record and passes in any case."""
        if not self.runs_nothing:
            self.record()
        return sn.assert_true(True)

    def set_performance_variables(self) -> None:
        """Sets none: a wire-up has no metric."""

    @property
    def completed(self) -> bool:
        """Whether the wire-up, of this session or an earlier one, ended and was not lost, with any exit status."""
        if self.directory is None:
            return False
        return has_completed(Path(self.directory)) and not loss_reason(Path(self.directory))

    def traffic(self) -> WireUp | None:
        """Returns the bytes and segments of the wire-up; None if no rank reported any."""
        if self.directory is None or not self.completed:
            return None
        directory = Path(self.directory)
        record = collect(directory)
        if record.attestation is None or record.attestation.traffic is None:
            return None
        name = directory.relative_to(Path(session().campaign) / "launches").as_posix()
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

    def problem(self) -> str:
        """Returns why the wire-up was not measured, if ``traffic`` is None."""
        return collect(Path(self.directory)).reason if self.directory else "it was skipped"
