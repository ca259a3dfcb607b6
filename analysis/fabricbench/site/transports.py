# SPDX-License-Identifier: Apache-2.0
"""Transports and bindings: the closed lists that sites and launches share."""

from typing import Literal, get_args

TRANSPORTS = ("shm", "tcp", "verbs", "mx", "psm", "cxi", "simulated")
Transport = Literal["shm", "tcp", "verbs", "mx", "psm", "cxi", "simulated"]
Binding = Literal["none", "core", "numa", "socket"]
"""What each rank is bound to; none: whatever its launcher does unasked."""
BINDINGS = get_args(Binding)
