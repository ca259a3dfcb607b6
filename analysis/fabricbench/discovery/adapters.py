# SPDX-License-Identifier: Apache-2.0
"""Finds the ports of adapters and the network interfaces in the files of a node."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fabricbench.discovery.node_files import CXI, HOST_NAME, INTERFACES, MEMORY, RDMA, ROUTES, Files

PortKind = Literal["infiniband", "roce", "iwarp", "omnipath", "slingshot", "unknown"]
InterfaceKind = Literal["ethernet", "ipoib"]

_RDMA_PORT = re.compile(rf"{RDMA}/([^/]+)/ports/(\d+)/link_layer")
_CXI_DEVICE = re.compile(rf"{CXI}/([^/]+)/device/uevent")
_INTERFACE = re.compile(rf"{INTERFACES}/([^/]+)/type")
_GID = re.compile(r"/gid_attrs/types/(\d+)$")
_ETHERNET, _INFINIBAND = "1", "32"
"""ARPHRD_ETHER and ARPHRD_INFINIBAND of the kernel's if_arp.h, in the file ``type`` of an interface."""
_NOT_A_PORT = ("bridge", "wlan", "wwan", "vxlan", "geneve", "gretap", "macvlan", "macvtap", "ipvlan", "dummy")
"""DEVTYPE of interfaces that are no port of the node."""
_IPV4_GID = "0000:0000:0000:0000:0000:ffff:"


@dataclass(frozen=True, slots=True)
class Port:
    """A port of an RDMA or Slingshot adapter.

    ``name`` as attestation names it: ``mlx5_0:1``, ``cxi0``. ``state`` and ``rate`` as in /sys, ``rate_gbit`` in
    Gbit/s. ``is_hardware``: whether the adapter is a device on a bus. ``gid_index``: the GID that RoCE should use.
    ``interface``: the network interface of the port. ``has_counters``: whether the adapter counts traffic.
    """

    name: str
    kind: PortKind
    driver: str
    is_hardware: bool
    active: bool
    rate_gbit: float | None
    gid_index: int | None
    interface: str
    has_counters: bool

    @property
    def adapter(self) -> str:
        """The adapter without the number of the port."""
        return self.name.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface that is up and has an IPv4 network. ``is_hardware``: a device on a bus, a bond or a VLAN."""

    name: str
    kind: InterfaceKind
    speed_mbit: int | None
    driver: str
    is_hardware: bool


def ports(files: Files) -> list[Port]:
    """Returns the ports of all adapters, in order of name."""
    rdma = [_rdma_port(files, match[1], match[2]) for path in files if (match := _RDMA_PORT.fullmatch(path))]
    cxi = [_cxi_port(files, match[1]) for path in files if (match := _CXI_DEVICE.fullmatch(path))]
    return sorted(rdma + cxi, key=lambda port: natural(port.name))


def interfaces(files: Files) -> list[Interface]:
    """Returns the interfaces that can be the ports of a fabric, in order of name.

    Bridges, wireless interfaces and tunnels are left out; so are virtual ones if there are others.
    """
    networks = {words[0] for line in files.get(ROUTES, ())[1:] if (words := line.split())}
    names = sorted({match[1] for path in files if (match := _INTERFACE.fullmatch(path))} & networks, key=natural)
    usable = list(_usable(files, names))
    return [one for one in usable if one.is_hardware] or usable


def host_name(files: Files) -> str:
    """Returns the name of the node; empty if it is unknown."""
    return _first(files, HOST_NAME)


def memory_bytes(files: Files) -> int | None:
    """Returns the memory of the node; None if it is unknown."""
    for line in files.get(MEMORY, ()):
        if match := re.fullmatch(r"MemTotal: +(\d+) kB", line):
            return int(match[1]) * 1024
    return None


def natural(name: str) -> tuple[str | int, ...]:
    """Returns a key that sorts ``mlx5_10`` after ``mlx5_9``."""
    return tuple(int(part) if part.isdecimal() else part for part in re.split(r"([0-9]+)", name))


def _usable(files: Files, names: list[str]) -> Iterator[Interface]:
    for name in names:
        folder = f"{INTERFACES}/{name}"
        kind = {_ETHERNET: "ethernet", _INFINIBAND: "ipoib"}.get(_first(files, f"{folder}/type"))
        devtype = _uevent(files, f"{folder}/uevent", "DEVTYPE")
        if kind is None or devtype in _NOT_A_PORT or _first(files, f"{folder}/operstate") not in ("up", "unknown"):
            continue
        speed = _first(files, f"{folder}/speed")
        on_bus = f"{folder}/device/uevent" in files
        yield Interface(
            name=name,
            kind="ipoib" if kind == "ipoib" else "ethernet",
            speed_mbit=int(speed) if speed.isdecimal() and int(speed) < 2**31 else None,
            driver=_uevent(files, f"{folder}/device/uevent", "DRIVER"),
            is_hardware=on_bus or devtype in ("bond", "vlan"),
        )


def _rdma_port(files: Files, adapter: str, number: str) -> Port:
    folder = f"{RDMA}/{adapter}/ports/{number}"
    driver = _uevent(files, f"{RDMA}/{adapter}/device/uevent", "DRIVER")
    kind = _rdma_kind(driver, _first(files, f"{RDMA}/{adapter}/node_type"), _first(files, f"{folder}/link_layer"))
    is_hardware = f"{RDMA}/{adapter}/device/uevent" in files
    gid = _roce_gid(files, folder, prefer_ipv4=is_hardware) if kind == "roce" else None
    rate = _first(files, f"{folder}/rate").split()
    return Port(
        name=f"{adapter}:{number}",
        kind=kind,
        driver=driver,
        is_hardware=is_hardware,
        active=_first(files, f"{folder}/state").endswith(": ACTIVE"),
        rate_gbit=float(rate[0]) if rate and re.fullmatch(r"[\d.]+", rate[0]) else None,
        gid_index=gid,
        interface=_first(files, f"{folder}/gid_attrs/ndevs/{gid or 0}"),
        has_counters=any(f"{folder}/{file}" in files for file in ("counters/port_xmit_data", "hw_counters/sent_pkts")),
    )


def _rdma_kind(driver: str, node_type: str, link_layer: str) -> PortKind:
    """The kind of a port, by the rules of ``apps/launch/nics.c``."""
    if driver == "hfi1":
        return "omnipath"
    if node_type.startswith("4"):  # "4: RNIC"
        return "iwarp"
    if not node_type.startswith("1") or link_layer not in ("InfiniBand", "Ethernet"):  # "1: CA"
        return "unknown"
    return "roce" if link_layer == "Ethernet" else "infiniband"


def _roce_gid(files: Files, folder: str, *, prefer_ipv4: bool) -> int | None:
    """The index of a GID of type RoCE v2: on hardware that of an IPv4 address, as this type routes IPv4.

    On soft-RoCE the GID of an IPv6 address: connections by that of an IPv4 address timed out there.
    """
    indices = [
        int(match[1])
        for path, lines in files.items()
        if path.startswith(f"{folder}/gid_attrs/") and (match := _GID.search(path)) and lines[0] == "RoCE v2"
    ]
    return min(
        indices,
        key=lambda index: (_first(files, f"{folder}/gids/{index}").startswith(_IPV4_GID) != prefer_ipv4, index),
        default=None,
    )


def _cxi_port(files: Files, name: str) -> Port:
    device = f"{CXI}/{name}/device"
    return Port(
        name=name,
        kind="slingshot",
        driver=_uevent(files, f"{device}/uevent", "DRIVER"),
        is_hardware=True,
        active=True,
        rate_gbit=None,
        gid_index=None,
        interface="",
        has_counters=f"{device}/telemetry/hni_sts_tx_ok_octets" in files,
    )


def _uevent(files: Files, path: str, key: str) -> str:
    return next((line.partition("=")[2] for line in files.get(path, ()) if line.startswith(f"{key}=")), "")


def _first(files: Files, path: str) -> str:
    """The first line of a file; empty if it is absent."""
    return files.get(path, ("",))[0].strip()
