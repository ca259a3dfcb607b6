# SPDX-License-Identifier: Apache-2.0
"""The own benchmarks over a link whose rate and delay are known, on a real stack.

A busy machine can only make the link slower, so what is asserted is generous on that side and strict on the other.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricbench.drive.probe import lane_environment
from support.link import ADDRESSES, DEVICE, Link, link, possible
from support.micro import STACKS, Values, stack, values_of

DELAY_S = 0.005
BYTES_PER_SECOND = 20e6
SLOWER = 1.4
FASTER = 0.98

REMOTE = """\
#!/bin/sh
# Hydra's launcher: the arguments before the host are its options, the command follows the host
while [ "$1" != "{host}" ]; do shift; done
shift
exec ip netns exec {namespace} sh -c "$*"
"""


@pytest.fixture(scope="module")
def known() -> Iterator[Link]:
    if reason := possible():
        pytest.skip(reason)
    with link(BYTES_PER_SECOND, DELAY_S) as made:
        yield made


def measured(known: Link, directory: Path, benchmark: str, *arguments: str) -> Values:
    """A benchmark on Intel MPI, one rank in each namespace."""
    impi = stack("impi")
    remote = directory / "remote.sh"
    remote.write_text(REMOTE.format(host=ADDRESSES[1], namespace=known.namespaces[1]))
    remote.chmod(0o755)
    settings = impi.variables(STACKS["impi"], "tcp") | {"FI_TCP_IFACE": DEVICE, "I_MPI_HYDRA_IFACE": DEVICE}
    hydra = ["-bootstrap", "ssh", "-bootstrap-exec", str(remote), "-hosts", ",".join(ADDRESSES), "-ppn", "1"]
    done = subprocess.run(
        [
            *("ip", "netns", "exec", known.namespaces[0], f"{impi.prefix}/bin/mpirun", *hydra),
            *("-np", "2", f"{impi.apps}/bin/fabricbench-micro", benchmark, *arguments),
        ],
        env=lane_environment(impi, settings) | {"HOME": os.environ.get("HOME", "/")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return values_of(done.stdout, directory, benchmark)


def test_pingpong_finds_the_delay_and_the_rate(known: Link, tmp_path: Path) -> None:
    values = measured(known, tmp_path, "pingpong", "--sizes", "8,1MiB", "--iterations", "80", "--warmup", "8")
    delay_us = 1e6 * known.delay_s
    assert FASTER * delay_us <= values["latency", "", 8] <= SLOWER * delay_us
    wire_us = delay_us + 1e6 * 2**20 / known.bytes_per_second
    assert FASTER * wire_us <= values["latency", "", 2**20] <= SLOWER * wire_us


@pytest.mark.parametrize(("benchmark", "directions"), [("unidirectional", 1), ("bidirectional", 2)])
def test_windows_find_the_rate(known: Link, tmp_path: Path, benchmark: str, directions: int) -> None:
    options = ("--sizes", "256KiB", "--window", "16", "--iterations", "10", "--warmup", "2")
    values = measured(known, tmp_path, benchmark, *options)
    rate = directions * known.bytes_per_second / 1e6
    assert rate / SLOWER <= values["bandwidth", "window=16", 2**18] <= rate / FASTER


def test_plogp_finds_the_gap_of_a_byte(known: Link, tmp_path: Path) -> None:
    values = measured(known, tmp_path, "plogp", "--sizes", "0,64KiB,256KiB", "--iterations", "10", "--warmup", "2")
    gap = {size: value for (metric, _, size), value in values.items() if metric == "gap"}
    per_byte_us = (gap[2**18] - gap[2**16]) / (2**18 - 2**16)
    assert FASTER <= per_byte_us * known.bytes_per_second / 1e6 <= SLOWER
