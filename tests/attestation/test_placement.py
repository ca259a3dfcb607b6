# SPDX-License-Identifier: Apache-2.0
"""Launches whose ranks ran on other nodes than their scale and placement say. All facts are synthetic."""

import pytest

from attestation.synthetic_launch import launch
from fabricbench.attestation.placement import RanksOfNode, placement_problem, ranks_of_nodes
from fabricbench.launch.witness import Report
from fabricbench.launch.witness_sums import summed

BLOCK = {"n1": (0, 1), "n2": (2, 3)}
CYCLIC = {"n1": (0, 2), "n2": (1, 3)}
ONE_NODE = {"n1": (0, 1, 2, 3)}
UNEVEN = {"n1": (0, 1, 2), "n2": (3,)}


def reports(ranks: dict[str, tuple[int, ...]]) -> list[Report]:
    facts = {"pid": 1, "forked": False, "exe": "x", "sockets": (), "cpus": "0-3"}
    return [Report.model_validate({**facts, "host": host, "rank": one}) for host, of in ranks.items() for one in of]


@pytest.mark.parametrize(
    ("ranks", "placement", "problem"),
    [
        (BLOCK, "block", ""),
        (CYCLIC, "cyclic", ""),
        (CYCLIC, None, ""),  # the launcher's default is not known
        (UNEVEN, "block", ""),
        (CYCLIC, "block", "the 2 ranks 0 to 2 were on n1, which is not the placement block"),
        (BLOCK, "cyclic", "the 2 ranks 0 to 1 were on n1, which is not the placement cyclic"),
        (ONE_NODE, "block", ""),  # the rules of the transport decide
        ({**BLOCK, "n3": (4,)}, "block", "all 4 ranks ran on 3 nodes, and the launch has 2"),
        ({"n1": (0, 1), "n2": (2,)}, "block", ""),  # rank 3 was killed
    ],
)
def test_the_nodes_of_the_ranks_are_those_of_the_launch(
    ranks: dict[str, tuple[int, ...]], placement: str | None, problem: str
) -> None:
    one = launch("tcp", ranks=4, nodes=2, placement=placement)
    separate = reports(ranks)
    assert placement_problem(one, ranks_of_nodes(separate, {})) == problem
    assert placement_problem(one, ranks_of_nodes((), summed(separate))) == problem


def test_a_wireup_is_not_compared() -> None:
    assert placement_problem(launch("tcp", mode="wireup", nodes=2), [RanksOfNode("n1", 0, 1, 2)]) == ""
