# SPDX-License-Identifier: Apache-2.0
"""A link of known rate and delay between two network namespaces, carried packet by packet by a thread."""

import contextlib
import ctypes
import fcntl
import heapq
import os
import select
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
LARGEST_PACKET = 65535
ADDRESSES = ("10.213.77.1", "10.213.77.2")
DEVICE = "fblink"


@dataclass(frozen=True)
class Link:
    """Two namespaces, each with a device ``DEVICE`` that has one of ``ADDRESSES``."""

    namespaces: tuple[str, str]
    bytes_per_second: float
    delay_s: float


def possible() -> str:
    """Returns why this machine cannot make a link; empty if it can."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    if not os.path.exists("/dev/net/tun"):
        return "needs /dev/net/tun"
    trial = subprocess.run(["unshare", "--net", "true"], capture_output=True, timeout=30, check=False)
    return "" if trial.returncode == 0 else "needs network namespaces"


@contextlib.contextmanager
def link(bytes_per_second: float, delay_s: float) -> Iterator[Link]:
    """Makes both namespaces and the link between them, and removes them afterwards."""
    names = (f"fblink-{os.getpid()}-a", f"fblink-{os.getpid()}-b")
    with contextlib.ExitStack() as stack:
        ends: list[int] = []
        for name, address in zip(names, ADDRESSES, strict=True):
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "delete", name)
            stack.callback(_end_processes, name)
            end = _tun(f"{DEVICE}{len(ends)}")
            stack.callback(os.close, end)
            _ip("link", "set", f"{DEVICE}{len(ends)}", "netns", name, "name", DEVICE)
            _ip("-n", name, "address", "add", f"{address}/30", "dev", DEVICE)
            _ip("-n", name, "link", "set", DEVICE, "mtu", "9000", "up")
            _ip("-n", name, "link", "set", "lo", "up")
            ends.append(end)
        stop = threading.Event()
        carrier = threading.Thread(target=_carry, args=(ends, bytes_per_second, delay_s, stop))
        carrier.start()
        stack.callback(carrier.join)
        stack.callback(stop.set)
        yield Link(names, bytes_per_second, delay_s)


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=30).stdout


def _end_processes(namespace: str) -> None:
    """Kills the processes that an aborted launch has left in the namespaces."""
    for pid in _ip("netns", "pids", namespace).split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def _tun(name: str) -> int:
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return end


def _carry(ends: list[int], bytes_per_second: float, delay_s: float, stop: threading.Event) -> None:
    """Forwards packets like a full-duplex wire: one after the other at the rate, each delivered after the delay."""
    free_at = dict.fromkeys(ends, 0.0)
    other = dict(zip(ends, reversed(ends), strict=True))
    waiting: list[tuple[float, int, int, bytes]] = []
    count = 0
    _punctual()
    while not stop.is_set():
        now = time.monotonic()
        timeout = max(0.0, waiting[0][0] - now) if waiting else 0.05
        for end in select.select(ends, [], [], timeout)[0]:
            with contextlib.suppress(BlockingIOError):
                while packet := os.read(end, LARGEST_PACKET):
                    now = time.monotonic()
                    free_at[end] = max(now, free_at[end]) + len(packet) / bytes_per_second
                    count += 1
                    heapq.heappush(waiting, (free_at[end] + delay_s, count, other[end], packet))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, end, packet = heapq.heappop(waiting)
            with contextlib.suppress(OSError):
                os.write(end, packet)


def _punctual() -> None:
    """Sets the timer slack of this thread to the minimum, because Linux may otherwise wake it 50 us late."""
    pr_set_timerslack = 29
    ctypes.CDLL(None).prctl(pr_set_timerslack, 1, 0, 0, 0)
