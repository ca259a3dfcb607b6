# SPDX-License-Identifier: Apache-2.0
"""Differences between nodes and from a reference campaign, likeliest to matter first."""

from typing import Any

import pytest

from fabricbench.launch.host import Host, Nic, Numa, switches_between
from fabricbench.launch.provenance import KINDS, FactValues, Provenance, node_facts
from fabricbench.launch.record import Campaign
from fabricbench.launch.table import table
from fabricbench.report.differences import differences, facts_of_nodes, not_compared, odd_nodes
from fabricbench.report.formatting import ranges
from fabricbench.report.page import report
from fabricbench.site.targets import LEVELS, Target
from report.html_page import Page
from report.synthetic import Shape, campaign

ADAPTER = Nic(
    name="mlx5_0:1", kind="infiniband", driver="mlx5_core", firmware="20.39.1002", model="15b3:101b", speed_mbit=200000,
    mtu=None, pcie_speed="16.0 GT/s PCIe", pcie_width=16, numa_node=1, link_layer="InfiniBand", state="ACTIVE",
)  # fmt: skip
ETHERNET = Nic(name="eth0", kind="ethernet", driver="tg3", model="14e4:165f", speed_mbit=1000, mtu=1500, state="up")
SHAPE = Shape(blocks=1, lanes=(("mpich", "shm", ""), ("mpich", "tcp", "")), collectives=(), faults=False)


def host(name: str, *nics: Nic, **facts: Any) -> Host:
    defaults: dict[str, Any] = {
        **{"kernel": "5.14.0", "cpu_model": "EPYC", "cores": 128, "governor": "performance", "smt": "off"},
        **{"boost": True, "numa": Numa(nodes=2, distances=((10, 32), (32, 10))), "memory_bytes": 540 * 2**30},
        **{"mitigations": {"l1tf": "Not affected", "mds": "Not affected", "spectre_v2": "Mitigation: Retpolines"}},
        "kernel_command_line": "root=/dev/sda1 secret=1 isolcpus=2-63 mitigations=auto ro",
    }
    return Host(host=name, nics=nics or (ADAPTER, ETHERNET), **{**defaults, **facts})


def changed(nic: Nic, **facts: Any) -> Nic:
    return nic.model_copy(update=facts)


def provenance(*hosts: Host, of: Campaign | None = None, **variables: dict[str, str]) -> Provenance:
    by_lane = {name.replace("_", "@"): result for name, result in variables.items()}
    return Provenance(of or campaign(SHAPE), {one.host: (one,) for one in hosts}, by_lane)


def facts(*hosts: Host) -> dict[str, FactValues]:
    return {one.host: node_facts(one) for one in hosts}


def rows(found: Any) -> list[tuple[str, str, str, str]]:
    return [(d.name, ranges(d.where), d.here, d.there) for d in found]


def test_equal_nodes_have_no_differences() -> None:
    assert odd_nodes(facts(*(host(f"n{i}") for i in range(1, 17)))) == []


def test_differences_of_nodes_are_in_order_of_rank() -> None:
    nodes = [host(f"n{i}") for i in range(1, 14)]
    nodes += [host(f"n{i}", changed(ADAPTER, speed_mbit=100000), ETHERNET) for i in (14, 15, 16)]
    nodes += [host("n17", kernel="6.1", mitigations={"l1tf": "Vulnerable", "mds": "Vulnerable"})]
    nodes += [host("n18", ADAPTER, changed(ETHERNET, mtu=9000)), host("n19", ETHERNET)]
    assert rows(odd_nodes(facts(*nodes))) == [
        ("port of mlx5_0:1", "n19", "not there", "infiniband"),
        ("link rate of mlx5_0:1", "n14–n16", "100000 Mbit/s", "200000 Mbit/s"),
        ("MTU of eth0", "n18", "9000", "1500"),
        ("kernel", "n17", "6.1", "5.14.0"),
        ("mitigation of l1tf, mds", "n17", "Vulnerable", "Not affected"),
    ]


def test_a_fact_that_a_node_does_not_report_is_no_difference() -> None:
    silent = Host(host="n3", cores=128)
    assert odd_nodes(facts(host("n1"), host("n2"), silent)) == []
    assert [d.kind for d in differences(provenance(host("n1")), provenance(silent))] == []
    assert not_compared(provenance(host("n1")), provenance(silent))[:2] == ["MTU", "NUMA distances"]


def test_only_words_of_the_kernel_command_line_that_concern_performance() -> None:
    values = node_facts(host("n1")).values()
    assert "isolcpus=2-63 mitigations=auto" in values
    assert not any("secret" in value for value in values)


def test_virtual_interfaces_count_only_as_a_fabrics_ports() -> None:
    bridge = Nic(name="veth1", kind="ethernet", driver="veth", speed_mbit=10000)
    assert not any(fact.of == "veth1" for fact in node_facts(host("n1", bridge)))
    assert any(fact.of == "veth1" for fact in node_facts(host("n1", bridge), {"veth1"}))


def test_a_node_is_compared_with_itself_and_a_new_one_with_all() -> None:
    there = provenance(host("n1"), host("n2", changed(ADAPTER, firmware="old"), ETHERNET))
    same = provenance(host("n1"), host("n2", changed(ADAPTER, firmware="old"), ETHERNET), host("n3"))
    assert differences(same, there) == []
    swapped = provenance(
        host("n1", changed(ADAPTER, firmware="old"), ETHERNET), host("n9", changed(ADAPTER, firmware="new"))
    )
    assert ("firmware of mlx5_0:1", "n9", "new", "20.39.1002 or old") in rows(differences(swapped, there))
    assert ("firmware of mlx5_0:1", "n1", "old", "20.39.1002") in rows(differences(swapped, there))


def test_lanes_differ_in_stack_variables_and_control_variables() -> None:
    def launched(**changes: dict[str, str]) -> Campaign:
        example = campaign(SHAPE)
        records = []
        for record in example.records:
            assert record.launch is not None
            new = {key: getattr(record.launch, key) | value for key, value in changes.items()}
            records.append(record.model_copy(update={"launch": record.launch.model_copy(update=new)}))
        return example.model_copy(update={"records": tuple(records)})

    mine = launched(environment={"UCX_TLS": "rc"}, versions={"mpich": "4.2", "reframe": "4.10"})
    theirs = launched(environment={"LD_LIBRARY_PATH": "/opt"}, versions={"mpich": "4.1"})
    here = provenance(of=mine, mpich_tcp={"A": "1", "B": "2"})
    assert rows(differences(here, provenance(of=theirs, mpich_tcp={"A": "1", "B": "3"}))) == [
        ("stack version", "mpich@shm, mpich@tcp", "4.2", "4.1"),
        ("UCX_TLS", "mpich@shm, mpich@tcp", "rc", "not set"),
        ("B", "mpich@tcp", "2", "3"),
        ("version of reframe", "mpich@shm, mpich@tcp", "4.10", "not set"),
        ("LD_LIBRARY_PATH", "mpich@shm, mpich@tcp", "not set", "/opt"),
    ]


def test_lanes_differ_in_what_their_kernels_were_built_for() -> None:
    """A campaign of an earlier version did not record it, which is no difference."""

    def built_for(target: Target | None, case: dict[str, str]) -> Provenance:
        example = campaign(SHAPE)
        changes = {"target": target, "case": case}
        records = [
            record.model_copy(update={"launch": record.launch and record.launch.model_copy(update=changes)})
            for record in example.records
        ]
        return provenance(of=example.model_copy(update={"records": tuple(records)}))

    v2, v3 = (Target(name=name, instructions=LEVELS[name]) for name in ("x86-64-v2", "x86-64-v3"))
    for code, name in (("own", "own NAS kernels built for"), ("nasa", "NASA's programs built for")):
        found = differences(built_for(v2, {"code": code}), built_for(v3, {"code": code}))
        assert rows(found) == [(name, "mpich@shm, mpich@tcp", "x86-64-v2", "x86-64-v3")]
        assert differences(built_for(v2, {"code": code}), built_for(None, {"code": code})) == []


def test_lanes_differ_in_the_prefix_and_the_modules_of_their_stack() -> None:
    def on(prefix: str, *modules: str) -> Provenance:
        example = campaign(SHAPE)
        changes = {"stack_prefix": prefix, "modules": modules}
        records = [
            record.model_copy(update={"launch": record.launch and record.launch.model_copy(update=changes)})
            for record in example.records
        ]
        return provenance(of=example.model_copy(update={"records": tuple(records)}))

    assert rows(differences(on("/opt/mpich", "gcc/12", "mpich/4.2"), on(""))) == [
        ("modules of the stack", "mpich@shm, mpich@tcp", "gcc/12 mpich/4.2", "not set"),
        ("stack prefix", "mpich@shm, mpich@tcp", "/opt/mpich", "not set"),
    ]


def test_nodes_differ_in_their_level() -> None:
    here, there = (host("n1", instructions=LEVELS[level]) for level in ("x86-64-v3", "x86-64-v4"))
    expected = [("level of x86-64", "n1", "x86-64-v3", "x86-64-v4")]
    assert rows(differences(provenance(here), provenance(there))) == expected


def test_a_lane_that_one_campaign_has_alone_comes_first() -> None:
    one = campaign(Shape(blocks=1, lanes=SHAPE.lanes[:1], collectives=(), faults=False))
    assert rows(differences(provenance(), provenance(of=one))) == [("launches", "mpich@tcp", "some", "none")]


def test_facts_that_all_nodes_share_come_last() -> None:
    frame = facts_of_nodes(facts(host("n1"), host("n2", smt="on")))
    assert frame["fact"][:2].to_list() == ["SMT", "SMT"]
    assert set(frame["nodes"][2:]) == {"n1, n2"}
    assert set(frame["kind"]) <= set(KINDS)


def test_differences_on_the_page() -> None:
    example = campaign(SHAPE)
    nodes = [host(f"n{i}", topology_address=f"top.leaf{i % 2}.n{i}") for i in range(1, 17)]
    nodes[6] = host("n7", kernel="6.1", topology_address="top.leaf1.n7")
    reference = [host(f"n{i}", changed(ADAPTER, firmware="20.1"), ETHERNET) for i in range(1, 17)]
    here = provenance(*nodes, of=example, mpich_tcp={f"v{i}": "1" for i in range(40)})
    there = provenance(*reference, mpich_tcp={f"v{i}": "2" for i in range(40)})
    html = report(example, table(example.records), None, provenance=here, reference=there)
    page = Page(html)
    assert page.text.index("Differences from autumn acceptance") < page.text.index("firmware of mlx5_0:1")
    assert page.text.index("firmware of mlx5_0:1") < page.text.index("control variable: 40 differences")
    assert page.text.index("Differences between nodes") < page.text.index("n1–n6, n8–n16")
    assert "switches between nodes1, 3" in page.text.replace("\n", "")
    assert "and on that of the reference campaign" in page.text
    assert "Differences from" not in Page(report(example, table(example.records), None, provenance=here)).text


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [("top.a.n1", "top.a.n2", 1), ("top.a.n1", "top.b.n2", 3), ("a.n1", "b.n2", None), ("n1", "n2", None)],
)
def test_switches_between_nodes(one: str, other: str, count: int | None) -> None:
    assert switches_between(one, other) == count


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("n1 n2 n3 n10 n11", "n1–n3, n10, n11"),
        ("n08 n09 n10 x", "n08–n10, x"),
        ("n1-ib n2-ib n3-ib n4", "n1-ib–n3-ib, n4"),
        ("a b", "a, b"),
        ("", ""),
    ],
)
def test_names_in_ranges(names: str, text: str) -> None:
    assert ranges(names.split()) == text
