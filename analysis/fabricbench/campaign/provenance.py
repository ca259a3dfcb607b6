# SPDX-License-Identifier: Apache-2.0
"""Reads the facts of nodes and MPI libraries from a campaign's launch directories that records do not contain."""

import re
from pathlib import Path

from fabricbench.campaign.read import read_campaign
from fabricbench.files.layout import LAUNCHES
from fabricbench.launch.host import Host
from fabricbench.launch.provenance import Provenance
from fabricbench.launch.record import Campaign
from fabricbench.parsers.hosts import host_files
from fabricbench.parsers.output import Unreadable, read_lines, read_model

VARIABLE = "#@cvar."
MOST_VARIABLES, LONGEST_NAME, LONGEST_VALUE = 4000, 128, 200
"""The largest number and length of the variables that are read from ``fabricbench-micro wireup``; the rest is cut."""
_OF_THE_LAUNCH = {
    "seconds": None,
    "busy_cpu_seconds": None,
    "foreign_cpu_share": None,
    "boot_id": None,
    "counters": None,
    "witness": None,
}
_OF_THE_RUN = re.compile(r".*(jobid|vpid|_uri|session_dir|nodename|hostname|param_file_path).*")
"""Variables that identify a process or its node, which differ in every launch."""


def read_provenance(path: Path, campaign: Campaign | None = None, *, recompute: bool = False) -> Provenance:
    """Returns the provenance of the campaign at ``path``; ``campaign`` is the campaign if it was already read.

    Files that cannot be read are ignored; the launch's record reports them.
    """
    campaign = campaign or read_campaign(path, recompute=recompute)
    hosts: dict[str, list[Host]] = {}
    variables: dict[str, dict[str, str]] = {}
    for record in campaign.records:
        directory = path / LAUNCHES / record.directory
        for file in host_files(directory):
            if (host := _host(file)) is not None and host not in hosts.setdefault(host.host, []):
                hosts[host.host].append(host)
        if record.launch is not None and record.launch.mode == "wireup" and record.state == "ok":
            variables[record.launch.lane] = control_variables(directory)
    return Provenance(
        campaign,
        {name: tuple(history) for name, history in hosts.items()},
        {lane: of_lane for lane, of_lane in variables.items() if of_lane},
    )


def control_variables(directory: Path) -> dict[str, str]:
    """Returns the MPI library's control variables that the wire-up in ``directory`` printed.

    Variables that identify the launch are excluded. Empty if the wire-up printed none.
    """
    try:
        lines = read_lines(directory / "stdout")
    except Unreadable:
        return {}
    texts = [line.removeprefix(VARIABLE) for line in lines if line.startswith(VARIABLE)][:MOST_VARIABLES]
    pairs = (line.partition("=") for line in texts)
    return {name[:LONGEST_NAME]: value[:LONGEST_VALUE] for name, _, value in pairs if not _OF_THE_RUN.fullmatch(name)}


def _host(file: Path) -> Host | None:
    try:
        return read_model(file, Host).model_copy(update=_OF_THE_LAUNCH)
    except Unreadable:
        return None
