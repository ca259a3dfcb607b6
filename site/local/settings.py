# SPDX-License-Identifier: Apache-2.0
"""This machine, with every stack and library on it, through shared memory and over TCP on the loopback interface."""

from fabricbench.launch.configuration import reframe_configuration
from fabricbench.site.fabric import Fabric
from fabricbench.site.system import System

STACKS = ["impi", "mpich", "openmpi"]
LIBRARIES = ["sockets", "libfabric", "ucx", "verbs"]

SYSTEM = System(
    name="local",
    file=__file__,
    description="this machine",
    hostnames=[".*"],
    fabrics=[
        Fabric(name="shm", transport="shm", stacks=STACKS + LIBRARIES),
        # Flows over two networks need an address on each; IPv4 and IPv6 of the loopback interface take their place.
        Fabric(
            name="tcp",
            transport="tcp",
            stacks=STACKS + LIBRARIES,
            addresses=["127.0.0.1", "::1"],
            # UCX would use every interface of the machine and fails if one, as a container's, disappears meanwhile.
            variables={"UCX_NET_DEVICES": "lo", "OMPI_MCA_btl_tcp_if_include": "lo", "FI_TCP_IFACE": "lo"},
        ),
    ],
    stacks=STACKS + LIBRARIES,
)
site_configuration = reframe_configuration(SYSTEM)
