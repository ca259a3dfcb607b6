# SPDX-License-Identifier: Apache-2.0
"""Captured outputs of tools that consist of a client and a server."""

import re

from fabricbench.parsers.tools import fi_pingpong, iperf3, qperf, ucx_perftest
from support.launches import text_of

CAPTURES = {
    "libfabric-shm-pingpong-small": fi_pingpong.parse,
    "libfabric-tcp-pingpong-large": fi_pingpong.parse,
    "ucx-shm-pingpong-small": ucx_perftest.parse,
    "ucx-tcp-pingpong-small": ucx_perftest.parse,
    "ucx-tcp-put-stream-large": ucx_perftest.parse,
    "ucx-tcp-get-small": ucx_perftest.parse,
    "ucx-tcp-fetch-and-add": ucx_perftest.parse,
    "sockets-tcp-qperf-pingpong-small": qperf.parse,
    "sockets-tcp-qperf-stream-large": qperf.parse,
    "sockets-tcp-iperf3-streams-4": iperf3.parse,
    "sockets-tcp-iperf3-together": iperf3.parse,
}

IPERF3 = "sockets-tcp-iperf3-streams-4"


def sections(name: str) -> dict[int, str]:
    """Returns the text after each line that names a value, with code that is independent of the parser."""
    parts = re.split(r"^#@round=\d+ value=(\S+)\n", text_of(name), flags=re.MULTILINE)[1:]
    return {int(size): body for size, body in zip(parts[::2], parts[1::2], strict=True)}
