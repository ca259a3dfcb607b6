# SPDX-License-Identifier: Apache-2.0
"""The lanes of the campaign: those of ``site/rdma``, and fabrics whose settings are wrong on purpose."""

LANES = (
    *("mpich@roce", "openmpi@roce", "openmpi@iwarp", "mpich-ofi@iwarp"),
    *("mpich@shm", "openmpi@shm", "mpich@eth"),
)
CONTROLS = """
from dataclasses import replace

PLAIN_ROCE = replace(ROCE, stacks=["mpich"], stack_variables={})
OPENMPI_OFI = IWARP.stack_variables["openmpi"]
PLAIN_IWARP = replace(IWARP, stack_variables={})
CONTROLS = [
    # UCX over TCP
    replace(PLAIN_ROCE, name="not-rdma", variables={"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth1"}),
    # RoCE on the other link
    replace(PLAIN_IWARP, name="not-iwarp", stacks=["mpich"], variables=ROCE.variables),
    # libfabric on the other adapter
    replace(IWARP, name="other-adapter", stacks=["openmpi"], stack_variables=dict(openmpi=OPENMPI_OFI),
            variables={"FI_VERBS_DEVICE_NAME": "rxe0"}),
    replace(PLAIN_ROCE, name="no-counters", ports=["siw0:1"]),
    replace(PLAIN_ROCE, name="one-node", nodes=ONE_NODE),
    replace(SHARED_MEMORY, name="adapters-open", stacks=["mpich"], variables={"UCX_MODULES": "all"}),
]
"""
WRONG_LANES = (
    *("mpich@not-rdma", "mpich@not-iwarp", "openmpi@other-adapter"),
    *("mpich@no-counters", "mpich@one-node", "mpich@adapters-open"),
)
SHORT = ("--set", "iterations=10", "--set", "step=3", "--set", "largest_bytes=262144", "--budget", "0")
"""One block of eight sizes."""
