# SPDX-License-Identifier: Apache-2.0
"""What a lane's sockets carry when nothing is sent: Init and Finalize alone, once per lane and campaign."""

from pathlib import Path

from fabricbench.core.launch import WireUp
from fabricbench.core.record import Record
from fabricbench.parsers.collect import collect
from reframe.core.backends import getlauncher

from .launch import LaunchTest


class WireUpLaunch(LaunchTest):
    """A fixture of every benchmark. In a later session it stands in for the launch that is already there: a
    fixture that is skipped would take its benchmarks along."""

    tool = "micro"
    benchmark = "wireup"
    mode = "wireup"
    limit_seconds = 30.0
    adopted: str | None = None

    def program(self) -> str:
        return f"{self.installed.apps}/bin/fabricbench-micro"

    def arguments(self) -> list[str]:
        return ["wireup"]

    @property
    def launch_id(self) -> str:
        return super().launch_id.partition(" ")[2]

    def adopt(self, directory: str) -> None:
        self.adopted = directory

    def wrap(self) -> None:
        if self.adopted is None:
            super().wrap()
        else:
            self.job.launcher = getlauncher("local")()
            self.executable, self.executable_opts = "true", []

    def record(self) -> Record:
        return super().record() if self.adopted is None else collect(Path(self.adopted))

    def measured(self) -> WireUp | None:
        """Bytes and segments of the wire-up; None where no rank reported any."""
        attestation = self.record().attestation
        if attestation is None or attestation.traffic is None:
            return None
        directory = Path(self.adopted or self.stagedir)
        name = directory.relative_to(Path(self.campaign) / "launches").as_posix()
        return WireUp(launch=name, bytes=attestation.traffic.bytes, segments=attestation.traffic.segments)
