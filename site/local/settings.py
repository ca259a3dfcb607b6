# SPDX-License-Identifier: Apache-2.0
"""This machine: every stack that was found on it, through shared memory and over TCP on the loopback."""

from pathlib import Path

from fabricbench.core.site import configuration, fabric, session, stack

SYSTEM = "local"
SITE = Path(__file__).resolve().parent
STACKS = ["impi", "mpich", "openmpi"]
SESSION = session()

site_configuration = configuration(
    system=SYSTEM,
    descr="this machine",
    hostnames=[".*"],
    fabrics=[
        fabric("shm", transport="shm", environs=STACKS, session=SESSION, site=SITE),
        fabric("tcp", transport="tcp", environs=STACKS, session=SESSION, site=SITE),
    ],
    stacks=[stack(name, site=SITE, system=SYSTEM) for name in STACKS],
    session=SESSION,
)
