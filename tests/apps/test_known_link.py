# SPDX-License-Identifier: Apache-2.0
"""Tests the project's own benchmarks on a real stack over a link with known rate and delay.

A busy machine can slow the link down by any factor, and nothing speeds it up. So no value may be better than the link
allows. Simulated networks (test_simulated.py) test that the benchmarks measure rate and delay correctly.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricbench.setup.probe import lane_environment
from support.link import ADDRESSES, DEVICE, Link, link, possible
from support.micro import STACKS, Values, stack, values_of

DELAY_S = 0.005
BYTES_PER_SECOND = 20e6
ROUNDING = 0.98
"""Factor on the time on the wire that allows for header sizes and clock rounding."""

REMOTE = """\
#!/bin/sh
# Hydra's launcher: the arguments before the host are its options, the command follows the host
while [ "$1" != "{host}" ]; do shift; done
shift
exec ip netns exec {namespace} sh -c "$*"
"""


@pytest.fixture(scope="module")
def rated_link() -> Iterator[Link]:
    if reason := possible():
        pytest.skip(reason)
    with link(BYTES_PER_SECOND, DELAY_S) as new_link:
        yield new_link


def measured(rated_link: Link, directory: Path, benchmark: str, *arguments: str) -> Values:
    """Runs a benchmark on Intel MPI with one rank in each namespace and returns its values."""
    impi = stack("impi")
    remote = directory / "remote.sh"
    remote.write_text(REMOTE.format(host=ADDRESSES[1], namespace=rated_link.namespaces[1]))
    remote.chmod(0o755)
    settings = impi.variables(STACKS["impi"], "tcp") | {"FI_TCP_IFACE": DEVICE, "I_MPI_HYDRA_IFACE": DEVICE}
    hydra = ["-bootstrap", "ssh", "-bootstrap-exec", str(remote), "-hosts", ",".join(ADDRESSES), "-ppn", "1"]
    process = subprocess.run(
        [
            *("ip", "netns", "exec", rated_link.namespaces[0], f"{impi.prefix}/bin/mpirun", *hydra),
            *("-np", "2", f"{impi.apps}/bin/fabricbench-micro", benchmark, *arguments),
        ],
        env=lane_environment(impi, settings) | {"HOME": os.environ.get("HOME", "/")},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr
    return values_of(process.stdout, directory, benchmark)


def test_pingpong_is_not_faster_than_delay_and_rate(rated_link: Link, tmp_path: Path) -> None:
    values = measured(rated_link, tmp_path, "pingpong", "--sizes", "8,1MiB", "--iterations", "10", "--warmup", "2")
    delay_us = 1e6 * rated_link.delay_s
    wire_us = delay_us + 1e6 * 2**20 / rated_link.bytes_per_second
    assert values["latency", "", 8] >= ROUNDING * delay_us
    assert values["latency", "", 2**20] >= ROUNDING * wire_us
    assert values["bandwidth", "", 2**20] <= rated_link.bytes_per_second / 1e6 / ROUNDING


@pytest.mark.parametrize(("benchmark", "directions"), [("unidirectional", 1), ("bidirectional", 2)])
def test_windows_are_not_faster_than_the_rate(
    rated_link: Link, tmp_path: Path, benchmark: str, directions: int
) -> None:
    options = ("--sizes", "256KiB", "--window", "16", "--iterations", "3", "--warmup", "1")
    values = measured(rated_link, tmp_path, benchmark, *options)
    rate = directions * rated_link.bytes_per_second / 1e6
    assert 0 < values["bandwidth", "window=16", 2**18] <= rate / ROUNDING


def test_plogp_has_its_parameters_at_every_size(rated_link: Link, tmp_path: Path) -> None:
    """The gap g is a difference of two measured times, so the link limits only the round trips."""
    values = measured(rated_link, tmp_path, "plogp", "--sizes", "0,64KiB", "--iterations", "4", "--warmup", "1")
    names = ("round_trip", "send_overhead", "receive_overhead", "gap")
    result = {name: {size: value for (metric, _, size), value in values.items() if metric == name} for name in names}
    assert all(set(sizes) == {0, 2**16} for sizes in result.values()), result
    assert all(value >= 0 for sizes in result.values() for value in sizes.values())
    for size, time_us in result["round_trip"].items():
        assert time_us >= ROUNDING * 1e6 * (2 * rated_link.delay_s + (size or 0) / rated_link.bytes_per_second)
