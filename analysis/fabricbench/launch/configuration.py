# SPDX-License-Identifier: Apache-2.0
"""ReFrame's configuration of a system: its partitions are the fabrics, its environments are the stacks."""

import os
from collections.abc import Mapping

from fabricbench.launch.session import ALLOCATION, session
from fabricbench.site.fabric import Fabric
from fabricbench.site.lane import LaneName
from fabricbench.site.stacks import Stack
from fabricbench.site.system import System

Configuration = Mapping[str, object]


def reframe_configuration(system: System) -> dict[str, object]:
    """Returns the ``site_configuration`` of a system for the session of this process.

    ReFrame writes into the campaign only. Partitions and environments carry the System in their ``extras``.
    """
    current = session()
    reframe = f"{current.campaign}/reframe"
    return {
        "systems": [
            {
                "name": system.name,
                "descr": system.description,
                "hostnames": list(system.hostnames),
                "modules_system": system.modules_system,
                "partitions": [_partition(system, fabric) for fabric in system.fabrics],
                "prefix": reframe,
                "stagedir": current.stage,
                "outputdir": f"{reframe}/output",
            }
        ],
        "environments": [
            _environment(system, stack, variant)
            for stack in map(system.stack, system.stacks)
            for variant in ("", *_variants(system, stack))
        ],
        "general": [
            {
                "keep_stage_files": True,
                "report_file": f"{reframe}/session-{current.block:03d}.{current.session:02d}.json",
                "save_log_files": False,
                "target_systems": [system.name],
            }
        ],
        "storage": [{"enable": False, "target_systems": [system.name]}],
    }


def _partition(system: System, fabric: Fabric) -> Configuration:
    scheduler, cores = fabric.scheduler, fabric.nodes.cores
    return {
        "name": fabric.name,
        "descr": f"the fabric {fabric.name}",
        "scheduler": "local" if os.environ.get(ALLOCATION) else scheduler.name,
        "access": list(scheduler.access),
        "modules": list(scheduler.modules),
        "launcher": "mpirun",  # each test sets its own (reframe_checks/base/launchers.py)
        "environs": [
            LaneName(name, fabric.name, variant).environment
            for name in fabric.stacks
            for variant in ("", *(fabric.variants if system.stack(name).level == "mpi" else ()))
        ],
        "max_jobs": scheduler.max_jobs,
        "features": ["fabric", fabric.transport],
        **({"processor": {"num_cpus": cores, "num_cpus_per_core": 1}} if cores else {}),
        "extras": system.extras,
    }


def _variants(system: System, stack: Stack) -> list[str]:
    """The variants of the lanes of a stack, on any fabric."""
    fabrics = [fabric for fabric in system.fabrics if stack.name in fabric.stacks and stack.level == "mpi"]
    return sorted({variant for fabric in fabrics for variant in fabric.variants})


def _environment(system: System, stack: Stack, variant: str) -> Configuration:
    return {
        "name": LaneName(stack.name, "", variant).environment,
        "features": [*stack.features, *([variant] if variant else [])],
        "target_systems": [system.name],
        "extras": system.extras,
    }
