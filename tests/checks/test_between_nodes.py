# SPDX-License-Identifier: Apache-2.0
"""The command lines of user-level benchmarks on two nodes: the options of the fabric, and the server's address."""

import json
from pathlib import Path

import pytest

from fabricbench.launch.session import FORECAST
from support.command import reframe_inside
from support.fake_site import REPOSITORY
from support.processes import clean_environment

SETTINGS = """\
from fabricbench.launch.configuration import reframe_configuration
from fabricbench.site.fabric import Fabric, Nodes, Scheduler
from fabricbench.site.system import System

STACKS = ["sockets", "verbs"]
SYSTEM = System(
    name="two",
    file=__file__,
    description="two nodes",
    hostnames=[".*"],
    fabrics=[
        Fabric(
            name="roce", transport="verbs", stacks=["verbs"], scheduler=Scheduler({scheduler}), nodes=Nodes(count=2),
            ports=["mlx5_0:1"], gid_index=3,
        ),
        Fabric(
            name="eth", transport="tcp", stacks=["sockets"], scheduler=Scheduler({scheduler}), nodes=Nodes(count=2),
            ports=["eth0", "eth1"],
        ),
    ],
    stacks=STACKS,
)
site_configuration = reframe_configuration(SYSTEM)
"""
PROGRAMS = {"verbs": ("ib_send_lat", "ib_read_lat"), "sockets": ("iperf3", "qperf")}


def dry_run(root: Path, check: str, scheduler: str = 'launcher="srun"') -> Path:
    """Returns the directory of the launch that a dry run of ReFrame prepares on a site of two nodes."""
    (root / "site/two").mkdir(parents=True)
    (root / "site/stacks.py").write_text((REPOSITORY / "site/stacks.py").read_text())
    (root / "site/two/settings.py").write_text(SETTINGS.format(scheduler=scheduler))
    for name, programs in PROGRAMS.items():
        folder = root / "build/stacks" / name
        folder.mkdir(parents=True)
        paths = {program: f"/usr/bin/{program}" for program in programs}
        record = {"stack": name, "source": "found", "version": "1", "prefix": "/opt/x", "apps": "/opt/x"}
        (folder / "stack.json").write_text(json.dumps({**record, "programs": paths}))
    environment = {
        **clean_environment(),
        "RFM_CONFIG_FILES": str(root / "site/two/settings.py"),
        "RFM_SYSTEM": "two",
        "FABRICBENCH_SITES": str(root / "site"),
        "FABRICBENCH_BUILD": str(root / "build"),
        "FABRICBENCH_CAMPAIGN": str(root / "campaign"),
        FORECAST: "1",
    }
    words = ("-c", str(REPOSITORY / "reframe_checks"), "--dry-run", "-n", check)
    result = reframe_inside(*words, environment=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    name = check[1:].partition("%")[0]
    (directory,) = (root / "campaign/launches").glob(f"*/*/*/*/{name}*")
    return directory


def test_perftest_on_two_nodes(tmp_path: Path) -> None:
    directory = dry_run(tmp_path, "^Perftest%messages=small%test=send_lat$")
    launch = json.loads((directory / "launch.json").read_text())
    assert (launch["ranks"], launch["nodes"]) == (2, 2)
    argv = launch["argv"]
    assert argv[argv.index("--interface") + 1] == "mlx5_0:1"
    server = argv[argv.index("--") + 1 : argv.index("::")]
    options = ["-n", "1000", "-s", "{value}", "-F", "-p", "{port}", "-d", "mlx5_0", "-i", "1", "-x", "3"]
    assert server == ["/usr/bin/ib_send_lat", *options]
    assert argv[argv.index("::") + 1 :] == [*server, "{address}"]


def test_flows_over_two_networks_use_two_ports(tmp_path: Path) -> None:
    directory = dry_run(tmp_path, "^TcpTogether%streams=1$")
    argv = json.loads((directory / "launch.json").read_text())["argv"]
    assert argv[1:5] == ["--each", "eth0,eth1,eth0+eth1", "--interface", "{value}"]
    assert argv[argv.index("::") + 1 :][:3] == ["/usr/bin/iperf3", "-c", "{address}"]


@pytest.mark.parametrize("check", ["^QperfTcp%messages=small%test=tcp_lat$"])
def test_without_srun_it_is_skipped(tmp_path: Path, check: str) -> None:
    directory = dry_run(tmp_path, check, scheduler='launcher="mpirun"')
    skip = json.loads((directory / "skipped.json").read_text())
    assert skip["reason"] == "only srun starts a server and its client on two nodes"
    assert skip["hint"] == "set launcher='srun' in the Scheduler of the fabric"
