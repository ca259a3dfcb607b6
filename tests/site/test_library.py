# SPDX-License-Identifier: Apache-2.0
"""Recognises MPI libraries by the texts that they print."""

import pytest

from fabricbench.site.library import Library

MPICH_3 = """MPICH Version:\t3.1.4
MPICH Device:\tch3:nemesis
MPICH configure:\t--prefix=/opt/mpich --with-device={device} --with-pm=hydra
"""
MX = Library(name="MPICH", version=r"^MPICH Version:", device="ch3:nemesis:mx")


def test_the_network_module_of_mpich_3_is_in_the_options_of_configure() -> None:
    assert MX.mismatch(MPICH_3.format(device="ch3:nemesis:mx")) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            MPICH_3.format(device="ch3:nemesis"),
            "its device is ch3:nemesis; the settings of the stack are for ch3:nemesis:mx",
        ),
        (MPICH_3.format(device="ch3:nemesis:tcp"), "its device is ch3:nemesis:tcp; the"),
        (MPICH_3.format(device="ch3:sock:mx"), "its device is ch3:nemesis; the"),
        ("MPICH Version: 3.1.4\n", "it names no device; the"),
        ("Open MPI v4.1.4, package: Debian\n", "it is Open MPI v4.1.4, not MPICH"),
    ],
)
def test_other_libraries_are_named(text: str, reason: str) -> None:
    assert MX.mismatch(text).startswith(reason)
