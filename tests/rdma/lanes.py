# SPDX-License-Identifier: Apache-2.0
"""The lanes of the campaign: those of ``site/rdma``, and fabrics whose settings are wrong on purpose."""

import os

REQUESTED = tuple(os.environ.get("FABRICBENCH_TEST_RDMA_LANES", "").split())
"""Lanes of stacks whose prefixes were given to ``make test-rdma``."""
LANES = (
    *("mpich@roce", "openmpi@roce", "openmpi@iwarp", "mpich-ofi@iwarp"),
    *("mpich@shm", "openmpi@shm", "mpich@eth"),
    *REQUESTED,
)
USER_LEVEL = {
    "verbs@roce": ("perftest", "ibv_rc_pingpong"),
    "verbs@iwarp": ("perftest",),
    "ucx@roce": ("ucx_perftest",),
    "libfabric@iwarp": ("fi_pingpong",),
}
"""By lane of a user-level library, the tools of its ping-pongs."""
PINGPONGS = (
    *("Perftest%messages=small%test=send_lat", "IbvRcPingpong%messages=small"),
    *("UcxPerftest%messages=small%test=tag_lat", "FiPingpong%messages=small"),
)
"""The checks of these ping-pongs, small messages only."""
CONTROLS = """
from dataclasses import replace

PLAIN_ROCE = replace(ROCE, stacks=["mpich"], stack_variables={})
PLAIN_IWARP = replace(IWARP, stack_variables={})
CONTROLS = [
    # UCX over TCP
    replace(PLAIN_ROCE, name="not-rdma", variables={"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth1"}),
    # RoCE on the other link
    replace(PLAIN_IWARP, name="not-iwarp", stacks=["mpich"], variables=ROCE.variables),
    # libfabric on the other adapter
    replace(PLAIN_ROCE, name="other-adapter", stacks=["mpich-ofi"], variables={"FI_VERBS_DEVICE_NAME": "siw0"}),
    replace(PLAIN_ROCE, name="no-counters", ports=["siw0:1"]),
    replace(PLAIN_ROCE, name="one-node", nodes=ONE_NODE),
    replace(SHARED_MEMORY, name="adapters-open", stacks=["mpich"], variables={"UCX_MODULES": "all"}),
]
"""
WRONG_LANES = (
    *("mpich@not-rdma", "mpich@not-iwarp", "mpich-ofi@other-adapter"),
    *("mpich@no-counters", "mpich@one-node", "mpich@adapters-open"),
)
SIZES = (0, 16, 64, 256, 1024, 4096, 16384, 65536)
VARIABLES = ("iterations=10", "smallest_bytes=16", "step=2", "largest_bytes=65536")
SHORT = tuple(word for variable in VARIABLES for word in ("--set", variable))
"""Few iterations of these sizes."""
ONE_BLOCK = ("--budget", "0")
