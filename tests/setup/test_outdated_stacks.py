# SPDX-License-Identifier: Apache-2.0
"""A stack is set up again after a change of its package or of its description."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricbench.setup import stacks
from fabricbench.site.stacks import Stack
from setup.toy_stacks import LIBRARY, MPI


def set_up(stack: Stack, builds: list[str]) -> bool:
    """Whether a set-up builds the stack."""
    builds.clear()
    assert stacks.set_up([stack], lambda line: None) == []
    return bool(builds)


@pytest.mark.parametrize(("stack", "command"), [(MPI, "mpicc.mine"), (LIBRARY, "ping")])
def test_a_stack_is_set_up_again_after_an_upgrade_of_its_package(
    builds: list[str], system_commands: Path, stack: Stack, command: str
) -> None:
    assert set_up(stack, builds)
    assert not set_up(stack, builds)
    os.utime(system_commands / command, (1, 1))
    assert set_up(stack, builds)
    assert not set_up(stack, builds)


@pytest.mark.parametrize(
    ("stack", "change"),
    [
        (MPI, {"environment": {"MINE_DEBUG": "1"}}),
        (MPI, {"transports": {"tcp": {"MINE_NET": "sockets"}, "shm": {}}}),
        (MPI, {"transports": {"shm": {}, "tcp": {"MINE_NET": "tcp"}}}),
        (LIBRARY, {"programs": {"ping": ("ping", "-V")}}),
        (LIBRARY, {"own": {"pong": "ANOTHER_OPTION"}}),
    ],
)
def test_a_stack_is_set_up_again_after_a_change_of_its_description(
    builds: list[str], system_commands: Path, stack: Stack, change: dict[str, Any]
) -> None:
    assert set_up(stack, builds)
    assert set_up(replace(stack, **change), builds)
