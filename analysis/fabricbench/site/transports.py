# SPDX-License-Identifier: Apache-2.0
"""Transports, bindings, placements, distances, variants: closed lists that sites, launches and attestation share."""

from typing import Literal, get_args

Transport = Literal["shm", "tcp", "verbs", "mx", "psm", "cxi", "simulated"]
TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
Binding = Literal["none", "core", "numa", "socket"]
"""The part of a node that each rank is bound to; ``none`` leaves the launcher's default."""
BINDINGS: tuple[Binding, ...] = get_args(Binding)
Placement = Literal["block", "cyclic"]
"""The order of ranks over nodes: consecutive ranks on one node, or consecutive ranks on different nodes."""
PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
Distance = Literal["near", "far"]
"""The distance of the nodes of a launch: all on one switch, or each on another switch."""
DISTANCES: tuple[Distance, ...] = get_args(Distance)
Variant = Literal["local-shm"]
"""A variant of the lanes of a fabric: ``local-shm`` uses shared memory inside a node, and the fabric between nodes."""
VARIANTS: tuple[Variant, ...] = get_args(Variant)
LOCAL_SHM: Variant = "local-shm"
