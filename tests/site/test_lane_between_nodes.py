# SPDX-License-Identifier: Apache-2.0
"""The options of user-level programs on two nodes: device, GID, RDMA connection manager, and the server's address."""

import pytest

from fabricbench.errors import BadInput
from fabricbench.site.fabric import Fabric, Nodes, Scheduler
from fabricbench.site.lane import Lane
from fabricbench.site.settings import site_root
from fabricbench.site.stacks import Installed, Stack, site_stacks

INSTALLED = Installed(
    stack="verbs",
    source="found",
    version="1",
    prefix="/opt/x",
    apps="/opt/x",
    programs={"ib_send_lat": "/opt/x/ib_send_lat", "qperf": "/opt/x/qperf"},
)
SRUN = Scheduler(name="slurm", launcher="srun")


def stack(name: str) -> Stack:
    return site_stacks(site_root())[name]


def roce(**fields: object) -> Fabric:
    values = {"scheduler": SRUN, "nodes": Nodes(count=2), "ports": ["mlx5_1:2"], "gid_index": 3, **fields}
    return Fabric(name="roce", transport="verbs", stacks=["verbs"], **values)  # type: ignore[arg-type]


def test_perftest_takes_device_and_gid() -> None:
    lane = Lane(roce(), stack("verbs"), INSTALLED)
    assert lane.fabric_options == ("-d", "mlx5_1", "-i", "2", "-x", "3")
    options = ("-p", "{port}", "-s", "2", "-n", "5", "-F", "-d", "mlx5_1", "-i", "2", "-x", "3")
    server, client = ("/opt/x/ib_send_lat", *options), ("/opt/x/ib_send_lat", *options, "{address}")
    assert lane.handshake == ("--interface", "mlx5_1:2", "--", *server, "::", *client)
    assert lane.pmi == "none"


def test_perftest_connects_by_rdma_cm_where_the_fabric_needs_it() -> None:
    lane = Lane(roce(gid_index=None, rdma_cm=True, ports=["eth2"]), stack("verbs"), INSTALLED)
    assert lane.fabric_options == ("-R",)
    assert lane.link_options("eth2") == ("--interface", "eth2", "--settle", "1")
    slow = Lane(roce(rdma_cm=True, ports=["eth2"], slowdown=2.5), stack("verbs"), INSTALLED)
    assert slow.link_options("eth2") == ("--interface", "eth2", "--settle", "2.5")


def test_perftest_takes_the_adapter_of_a_declared_interface() -> None:
    lane = Lane(roce(adapter="rxe0:1", ports=["eth1"], gid_index=2), stack("verbs"), INSTALLED)
    assert lane.fabric_options == ("-d", "rxe0", "-i", "1", "-x", "2")
    assert lane.link_options(lane.fabric.interface) == ("--interface", "eth1")


@pytest.mark.parametrize("name", ["rxe0", "rxe0:", ":1"])
def test_an_adapter_without_port_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=f"fabric roce: adapter is '{name}'; expected a port of an adapter"):
        roce(adapter=name).check(site_root() / "mine/settings.py", ["verbs"])


def test_other_libraries_take_no_options() -> None:
    lane = Lane(roce(rdma_cm=True), stack("sockets"), INSTALLED)
    assert lane.fabric_options == ()
    assert lane.link_options("any") == ("--interface", "any")


def test_on_one_node_the_server_listens_at_the_declared_address() -> None:
    lane = Lane(roce(nodes=Nodes(count=1), addresses=["10.0.0.1"], ports=[]), stack("sockets"), INSTALLED)
    assert lane.handshake[0] == "--"
    assert "10.0.0.1" in lane.handshake
    assert not lane.fabric.between_nodes


def test_without_srun_nothing_runs_between_nodes() -> None:
    lane = Lane(roce(scheduler=Scheduler(name="slurm")), stack("verbs"), INSTALLED)
    assert not lane.fabric.between_nodes
    assert lane.pmi is None


@pytest.mark.parametrize("gid", [-1, 65536])
def test_a_gid_that_no_adapter_has(gid: int) -> None:
    with pytest.raises(BadInput, match=f"fabric roce: gid_index is {gid}; expected 0 to 65535"):
        roce(gid_index=gid).check(site_root() / "mine/settings.py", ["verbs"])
