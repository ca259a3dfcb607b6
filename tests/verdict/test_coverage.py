# SPDX-License-Identifier: Apache-2.0
"""Which nodes and node pairs a campaign covered, and what it says about the others."""

import time

from fabricbench.launch.facts import Launch, Mode
from fabricbench.launch.record import Record, RemovedNode, Row, State
from fabricbench.verdict.coverage import coverage


def record(
    hosts: tuple[str, ...], *, benchmark: str = "allreduce", state: State = "ok", mode: Mode = "timed",
    pool: str = "n[1-4]", pairs: tuple[tuple[str, str], ...] = (),
) -> Record:  # fmt: skip
    launch = Launch(
        id="x", block=0, position=0, system="s", fabric="ib", transport="tcp", stack="one", tool="micro",
        benchmark=benchmark, ranks=len(hosts), nodes=len(hosts), argv=("x",), limit_seconds=1, mode=mode,
        node_pool=pool,
    )  # fmt: skip
    rows = tuple(
        Row(benchmark=benchmark, case=f"from={a} to={b}", metric="latency", msg_size_bytes=8, value=1.0)
        for a, b in pairs
    )
    return Record(directory="d", launch=launch, state=state, hosts=hosts, rows=rows)


def test_launches_cover_the_pairs_of_their_nodes() -> None:
    (result,) = coverage([record(("n1", "n2")), record(("n2", "n3", "n4"))])
    assert (result.nodes, result.missing_nodes, result.missing_pairs) == (4, (), 2)
    assert result.lines == (
        "ib: launches covered 4 of 4 nodes",
        "ib: launches covered 4 of 6 node pairs; never n1-n3, n1-n4",
    )


def test_node_pair_benchmarks_cover_the_pairs_that_they_measured() -> None:
    everywhere = ("n1", "n2", "n3", "n4")
    (result,) = coverage([record(everywhere, benchmark="pair_latency", pairs=(("n1", "n2"), ("n3", "n4")))])
    assert (result.missing_nodes, result.missing_pairs) == ((), 4)


def test_unattested_launches_and_wire_ups_cover_nothing() -> None:
    records = [
        record(("n1", "n2")),
        record(("n1", "n3"), state="refuted"),
        record(("n1", "n4"), mode="wireup"),
        record(("n3", "n4"), state="failed"),
    ]
    (result,) = coverage(records)
    assert result.missing_nodes == ("n3", "n4")
    assert result.lines[0] == "ib: launches covered 2 of 4 nodes; never n3, n4"


def test_a_node_that_was_taken_out_is_not_missing() -> None:
    removed = RemovedNode(node="n4", because="ECC errors", block=2, time=time.time())
    (result,) = coverage([record(("n1", "n2", "n3")), record(("n1", "n4"))], [removed])
    assert (result.nodes, result.missing_nodes, result.missing_pairs) == (3, (), 0)
    assert removed.note == "without n4 since block 2: ECC errors"


def test_names_with_a_domain_and_without_a_pool() -> None:
    (result,) = coverage([record(("n1.site.org", "n2.site.org"))])
    assert result.missing_nodes == ("n3", "n4")
    (result,) = coverage([record(("a", "b"), pool="")])
    assert (result.nodes, result.missing_pairs) == (2, 0)
    assert coverage([record(("a",), pool="")]) == ()


def test_a_thousand_nodes() -> None:
    """Long lists are cut. The work grows with the distinct sets of nodes, not with the launches."""
    half = tuple(f"n{number}" for number in range(1, 501))
    (result,) = coverage([record(half, pool="n[1-1000]")] * 2000)
    assert (result.nodes, len(result.missing_nodes)) == (1000, 500)
    assert result.missing_pairs == 499_500 - 500 * 499 // 2
    assert result.lines[0].endswith("n519, n520 and 480 more")
