# SPDX-License-Identifier: Apache-2.0
"""What the ports of the nodes carried during a launch: each node's own counters, before and after (``host.<name>``)."""

import stat
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabricbench.core.record import Ports

LARGEST_HOST_FILE = 2**20
SATURATED_BYTES = 4 * (2**32 - 1)
"""Where an adapter's old counter of 32 bits, in words of 4 bytes, stops: such a port counts no more."""

Reading = Annotated[int, Field(strict=True, ge=0, lt=2**64)]
Readings = tuple[Reading | None, Reading | None]
"""Before and after; None where it could not be read, the second also where the node never came to the end."""


class _Host(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    host: str
    counters: dict[str, dict[str, Readings | None] | None] | None = None


def port_counters(directory: Path) -> Ports:
    """What moved on each port, by node and port: an interface as ``eth0``, an adapter's port as ``mlx5_0:1``.

    A counter that was not read before and after, fell (the adapter was reset), or stands at its limit is left out. A
    node that counts nothing has no ports. ValueError names the first file that is not a node's facts.
    """
    found: Ports = {}
    for path in sorted(directory.glob("host.*")):
        if path.suffix == ".tmp":
            continue
        host = _read(path)
        if host.host in found:
            raise ValueError(f"{path.name}: a second file of the node {host.host[:80]}")
        found[host.host] = {
            port: _moved(readings) for port, readings in sorted((host.counters or {}).items()) if readings
        }
    return found


def read_counters(directory: Path) -> dict[str, dict[str, tuple[int, int]]]:
    """Bytes sent and received, by node and port, of the ports that count both; see ``port_counters``."""
    return {
        host: {
            port: (moved["tx_bytes"], moved["rx_bytes"])
            for port, moved in ports.items()
            if "tx_bytes" in moved and "rx_bytes" in moved
        }
        for host, ports in port_counters(directory).items()
    }


def _moved(readings: dict[str, Readings | None]) -> dict[str, int]:
    found = {}
    for counter, pair in readings.items():
        before, after = pair or (None, None)
        if before is None or after is None or after < before:
            continue
        if not (counter.endswith("_bytes") and after == SATURATED_BYTES):
            found[counter] = after - before
    return found


def _read(path: Path) -> _Host:
    try:
        facts = path.lstat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST_HOST_FILE:
            raise OSError(f"no regular file of at most {LARGEST_HOST_FILE} bytes")
        return _Host.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path.name}: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:120]
        raise ValueError(f"{path.name}: {f'{where}: ' if where else ''}{first['msg']}") from None
