# SPDX-License-Identifier: Apache-2.0
"""The session that the environment variables describe."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.launch.session import Session, session
from fabricbench.site.settings import REPOSITORY

VARIABLES = ("CAMPAIGN", "BLOCK", "SESSION", "SEED", "LANES", "BUILD", "LOCK")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Unsets the variables of a session, and restores Python's random numbers after the test."""
    for name in VARIABLES:
        monkeypatch.delenv(f"FABRICBENCH_{name}", raising=False)
    state = random.getstate()
    session.cache_clear()
    yield monkeypatch
    session.cache_clear()
    random.setstate(state)


def set_session(environment: pytest.MonkeyPatch, **values: str) -> Session:
    for name, value in values.items():
        environment.setenv(f"FABRICBENCH_{name}", value)
    session.cache_clear()
    return session()


def test_a_plain_run_is_a_new_campaign_of_one_block() -> None:
    current = session()
    assert Path(current.campaign).parent == REPOSITORY / "campaigns"
    assert (current.block, current.session, current.seed, current.lanes) == (0, 0, 0, ())
    assert session() is current


def test_the_environment_names_the_session(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lanes = " mpich@tcp  openmpi@shm "
    current = set_session(
        environment, CAMPAIGN=f"{tmp_path}/x/../c", BLOCK="7", SESSION="2", SEED="1215861614", LANES=lanes
    )
    assert current == Session(f"{tmp_path}/c", 7, 2, 1215861614, ("mpich@tcp", "openmpi@shm"))


@pytest.mark.parametrize(
    ("block", "number", "name"), [(0, 0, "b000.s00"), (7, 12, "b007.s12"), (1234, 100, "b1234.s100")]
)
def test_stage_names(block: int, number: int, name: str) -> None:
    assert Session("/c", block, number, 0, ()).stage == f"/c/launches/{name}"


@pytest.mark.parametrize("name", ["BLOCK", "SESSION", "SEED"])
@pytest.mark.parametrize("text", ["x", "", "-1", "1.5", " 1", "0x1", "²", "٣", "1_0", "9" * 5000, "<b>\x1b[1m"])
def test_a_variable_that_is_not_a_number_is_bad_input(environment: pytest.MonkeyPatch, name: str, text: str) -> None:
    with pytest.raises(BadInput, match=f"environment: FABRICBENCH_{name} is '.*'; expected a whole number") as caught:
        set_session(environment, **{name: text})
    assert len(str(caught.value)) < 200


def draws(environment: pytest.MonkeyPatch, **values: str) -> list[float]:
    set_session(environment, **values)
    return [random.random() for _ in range(3)]


def test_the_order_of_a_block_is_that_of_its_seed(environment: pytest.MonkeyPatch) -> None:
    first = draws(environment, SEED="1", BLOCK="0", SESSION="0")
    assert draws(environment, SEED="1", BLOCK="0", SESSION="0") == first
    for other in ({"SEED": "2"}, {"BLOCK": "1"}, {"SESSION": "1"}):
        assert draws(environment, **{"SEED": "1", "BLOCK": "0", "SESSION": "0"} | other) != first
