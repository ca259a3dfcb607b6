# SPDX-License-Identifier: Apache-2.0
"""This machine: every stack and library that was found on it, through shared memory and over TCP on the loopback.

Two transports at once need two networks; IPv4 and IPv6 on the loopback stand for them.
"""

from pathlib import Path

from fabricbench.site.settings import configuration, fabric, session, stack

SYSTEM = "local"
SITE = Path(__file__).resolve().parent
STACKS = ["impi", "mpich", "openmpi"]
LIBRARIES = ["sockets", "libfabric", "ucx", "verbs"]
SESSION = session()

site_configuration = configuration(
    system=SYSTEM,
    descr="this machine",
    hostnames=[".*"],
    fabrics=[
        fabric("shm", transport="shm", environs=STACKS + LIBRARIES, session=SESSION, site=SITE),
        fabric(
            "tcp",
            transport="tcp",
            environs=STACKS + LIBRARIES,
            session=SESSION,
            site=SITE,
            addresses=("127.0.0.1", "::1"),
        ),
    ],
    stacks=[stack(name, site=SITE, system=SYSTEM) for name in STACKS + LIBRARIES],
    session=SESSION,
)
