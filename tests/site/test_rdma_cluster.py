# SPDX-License-Identifier: Apache-2.0
"""Bad input of ``site/rdma/cluster.sh`` prints one line and starts nothing."""

import pytest

from support.rdma import script


@pytest.mark.parametrize(
    ("words", "variables", "message"),
    [
        (("up",), {"NODES": "1"}, "NODES is '1'; expected a whole number from 2 to 8"),
        (("up",), {"MEMORY": "64"}, "MEMORY is '64'; expected a whole number from 1000 to 1000000"),
        (("up",), {"RATE": "fast"}, "RATE is 'fast'; expected a whole number from 0 to 100000"),
        (("sideways",), {}, "expected up, down or status; not 'sideways'"),
    ],
)
def test_bad_input_prints_one_line(words: tuple[str, ...], variables: dict[str, str], message: str) -> None:
    process = script(*words, **variables)
    assert (process.returncode, process.stderr) == (2, f"rdma: {message}\n")
