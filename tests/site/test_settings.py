# SPDX-License-Identifier: Apache-2.0
"""What a site is made of: the session of the environment, fabrics, stacks, and errors that name the hint."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricbench.errors import BadInput, nearest
from fabricbench.metrics import metric
from fabricbench.site.settings import REPOSITORY, Session, build_root, fabric, session, stack
from fabricbench.site.stacks import Handshake, Installed, Stack, handshake_at, read_installed, site_stacks

VARIABLES = ("CAMPAIGN", "BLOCK", "SESSION", "SEED", "LANES", "BUILD", "LOCK")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No variable of a session set; the order of everybody else's random numbers unchanged."""
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
    found = session()
    assert Path(found.campaign).parent == REPOSITORY / "campaigns"
    assert (found.block, found.session, found.seed, found.lanes) == (0, 0, 0, ())
    assert session() is found


def test_the_environment_names_the_session(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lanes = " mpich@tcp  openmpi@shm "
    found = set_session(
        environment, CAMPAIGN=f"{tmp_path}/x/../c", BLOCK="7", SESSION="2", SEED="1215861614", LANES=lanes
    )
    assert found == Session(f"{tmp_path}/c", 7, 2, 1215861614, ("mpich@tcp", "openmpi@shm"))


@pytest.mark.parametrize(
    ("block", "number", "name"), [(0, 0, "b000.s00"), (7, 12, "b007.s12"), (1234, 100, "b1234.s100")]
)
def test_stage_names(block: int, number: int, name: str) -> None:
    assert Session("/c", block, number, 0, ()).stage == f"/c/launches/{name}"


@pytest.mark.parametrize("name", ["BLOCK", "SESSION", "SEED"])
@pytest.mark.parametrize("text", ["x", "", "-1", "1.5", " 1", "0x1", "²", "٣", "1_0", "9" * 5000, "<b>\x1b[1m"])
def test_a_number_that_is_none_is_bad_input(environment: pytest.MonkeyPatch, name: str, text: str) -> None:
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


def test_the_build_may_stand_elsewhere(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert build_root() == REPOSITORY / "build"
    environment.setenv("FABRICBENCH_BUILD", "")
    assert build_root() == REPOSITORY / "build"
    environment.setenv("FABRICBENCH_BUILD", str(tmp_path))
    assert build_root() == tmp_path


def make_fabric(**values: Any) -> dict[str, Any]:
    here = Session("/c", 3, 1, 5, ("a@b",))
    arguments: dict[str, Any] = {"transport": "tcp", "environs": ["mpich"], "session": here, "site": Path("/s")}
    return fabric("gige", **(arguments | values))


def test_a_fabric_is_a_partition() -> None:
    made = make_fabric(env_vars={"A": "b"})
    assert (made["name"], made["environs"], made["max_jobs"]) == ("gige", ["mpich"], 1)
    assert made["features"] == ["fabric", "tcp"]
    extras = made["extras"]
    assert (extras["fabric"], extras["transport"], extras["attestation"]) == ("gige", "tcp", "required")
    assert extras["session"] == {"campaign": "/c", "block": 3, "session": 1, "seed": 5, "lanes": ("a@b",)}
    assert extras["site_variables"] == {"A": "b"}


def test_a_fabric_of_an_unknown_transport() -> None:
    with pytest.raises(BadInput, match="fabric gige: unknown transport 'tpc'; expected tcp"):
        make_fabric(transport="tpc")


def test_a_fabric_with_an_attestation_of_its_own() -> None:
    assert make_fabric(attestation="optional")["extras"]["attestation"] == "optional"
    with pytest.raises(BadInput, match="attestation is 'never'; expected required or optional"):
        make_fabric(attestation="never")


def test_a_fabric_of_several_ports() -> None:
    assert (make_fabric()["extras"]["rails"], make_fabric()["extras"]["ports"]) == (1, [])
    extras = make_fabric(rails=2, ports=("a", "b"))["extras"]
    assert (extras["rails"], extras["ports"]) == (2, ["a", "b"])
    assert make_fabric(rails=2)["extras"]["ports"] == []


def test_a_fabric_that_binds_ranks() -> None:
    assert make_fabric()["extras"]["binding"] == "none"
    assert make_fabric(binding="core")["extras"]["binding"] == "core"
    with pytest.raises(BadInput, match="fabric gige: unknown binding 'cores'; expected core"):
        make_fabric(binding="cores")


@pytest.mark.parametrize(("rails", "ports"), [(0, ()), (2, ("a",)), (1, ("a", "b"))])
def test_a_fabric_whose_ports_do_not_fit_its_rails(rails: int, ports: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match=rf"fabric gige: {rails} rails, {len(ports)} ports; expected"):
        make_fabric(rails=rails, ports=ports)


STACKS = """\
from fabricbench.site.stacks import Stack

STACKS = {
    "mine": Stack(
        name="mine",
        launcher="srun",
        environment={"ROOT": "{prefix}", "A": "all"},
        transports={"tcp": {"A": "tcp {prefix}/lib"}, "shm": {}},
        runs_imb=True,
    )
}
"""
INSTALLED = Installed(stack="mine", source="here", version="1", prefix="/opt/m", apps="/opt/apps", imb="/opt/IMB-MPI1")


@pytest.fixture
def site(tmp_path: Path, environment: pytest.MonkeyPatch) -> Path:
    """A site's folder beside a ``stacks.py``, and an empty build."""
    (tmp_path / "site/here").mkdir(parents=True)
    (tmp_path / "site/stacks.py").write_text(STACKS)
    environment.setenv("FABRICBENCH_BUILD", str(tmp_path / "build"))
    return tmp_path / "site/here"


def test_a_stack_that_is_set_up(site: Path) -> None:
    file = site.parents[1] / "build/stacks/mine/stack.json"
    file.parent.mkdir(parents=True)
    file.write_text(INSTALLED.model_dump_json())
    made = stack("mine", site=site, system="here")
    extras = made["extras"]
    assert (made["name"], made["target_systems"], extras["launcher"]) == ("mine", ["here"], "srun")
    assert extras["installed"] == INSTALLED.model_dump(mode="json")
    assert extras["variables"] == {
        "tcp": {"ROOT": "/opt/m", "A": "tcp /opt/m/lib"},
        "shm": {"ROOT": "/opt/m", "A": "all"},
    }
    assert (extras["missing"], extras["hint"]) == ("", "")


def test_a_stack_that_is_not_set_up_says_so(site: Path) -> None:
    extras = stack("mine", site=site, system="here")["extras"]
    assert (extras["installed"], extras["variables"]) == (None, {})
    assert extras["missing"] == "the stack mine is not set up on this machine"
    assert extras["hint"] == "run: fabricbench setup --spack build/views mine"
    file = site.parent / "stacks.py"
    file.write_text(file.read_text().replace("runs_imb=True", 'pypi=("mine",)'))
    assert stack("mine", site=site, system="here")["extras"]["hint"] == "run: fabricbench setup mine"


def test_a_stack_that_nobody_declares(site: Path) -> None:
    with pytest.raises(BadInput, match=r"settings\.py: unknown stack 'mime'; expected mine"):
        stack("mime", site=site, system="here")


def test_a_stack_that_uses_ports_in_a_way_that_nobody_knows(site: Path) -> None:
    file = site.parent / "stacks.py"
    text = file.read_text()
    for wrong, says in (
        ('{"tcp": {"stripped": {}}}', "unknown rails 'stripped'; expected striped"),
        ('{"striped": {}}', "rails on 'striped'; expected one of shm, tcp"),
    ):
        file.write_text(text.replace("runs_imb=True", f"rails={wrong}"))
        with pytest.raises(BadInput, match=rf"stacks\.py: mine: {says}"):
            site_stacks(site.parent)


def test_a_stack_that_binds_ranks_to_what_nobody_knows(site: Path) -> None:
    file = site.parent / "stacks.py"
    file.write_text(file.read_text().replace("runs_imb=True", 'binding={"socks": ()}'))
    with pytest.raises(BadInput, match=r"stacks\.py: mine: unknown binding 'socks'; expected socket"):
        site_stacks(site.parent)


def test_the_own_site_declares_the_stacks_that_it_names() -> None:
    stacks = site_stacks(REPOSITORY / "site")
    assert {"impi", "mpich", "openmpi"} <= set(stacks)
    assert all(name == declared.name for name, declared in stacks.items())
    assert stacks["impi"].transports["tcp"]["I_MPI_COLL_INTRANODE"] == "pt2pt"


def test_variables_of_a_transport_win_over_those_of_the_stack() -> None:
    declared = Stack(name="s", environment={"A": "1", "B": "{prefix}"}, transports={"tcp": {"A": "2"}})
    assert INSTALLED.variables(declared, "tcp") == {"A": "2", "B": "/opt/m"}
    assert INSTALLED.variables(declared, "mx") == {"A": "1", "B": "/opt/m"}


def test_no_stacks_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"stacks\.py: no such file; expected a file that defines STACKS"):
        site_stacks(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "AttributeError: .*STACKS"),
        ("STACKS = ", "SyntaxError"),
        ("import no_such_module", "ModuleNotFoundError: .*no_such_module"),
        ("1 / 0", "ZeroDivisionError"),
        ("STACKS = []", "STACKS is wrong; expected a dict from name to Stack"),
        ("STACKS = {'a': 'b'}", "STACKS is wrong; expected a dict from name to Stack"),
        ("from fabricbench.site.stacks import Stack\nSTACKS = {'a': Stack()}", "TypeError"),
    ],
)
def test_a_stacks_file_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "stacks.py").write_text(text)
    with pytest.raises(BadInput, match=rf"stacks\.py: {message}"):
        site_stacks(tmp_path)


def test_what_set_up_never_finished_is_not_installed(tmp_path: Path) -> None:
    assert read_installed(tmp_path / "stack.json") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"stack": "x"}', b"[" * 100_000])
def test_a_stack_record_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "stack.json").write_bytes(content)
    with pytest.raises(BadInput, match=r"not a stack's record: .*; delete it and set up again") as caught:
        read_installed(tmp_path / "stack.json")
    assert "\n" not in str(caught.value)


def test_a_stack_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "stack.json").write_text(INSTALLED.model_dump_json())
    assert read_installed(tmp_path / "stack.json") == INSTALLED


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("tpc", ["shm", "tcp"], "tcp"),
        ("latencies", ["latency", "latency_mean", "bandwidth"], "latency, latency_mean"),
        ("zzz", ["b", "a", "a"], "one of a, b"),
        ("", ["a"], "one of a"),
        ("x", [], "nothing: none is known here"),
        ("zzz", [f"n{k:02d}" for k in range(30)], "one of " + ", ".join(f"n{k:02d}" for k in range(20))),
    ],
)
def test_the_nearest_names(name: str, known: list[str], text: str) -> None:
    assert nearest(name, known) == text
    assert nearest(name, iter(known)) == text


def test_an_error_says_where_what_is_expected_and_the_cure() -> None:
    assert str(BadInput("x is wrong")) == "x is wrong"
    assert str(BadInput("w", where="f:3", expected="e", hint="c")) == "f:3: w; expected e; c"
    assert str(BadInput("w", hint="c")) == "w; c"


def test_a_metric_by_its_name() -> None:
    assert (metric("bandwidth").unit, metric("bandwidth").better) == ("MB/s", "higher")
    with pytest.raises(BadInput, match="f: unknown metric 'latncy'; expected latency"):
        metric("latncy", where="f")


LIBRARY = Stack(
    name="lib",
    level="user",
    programs={"bench": ("bench", "--version"), "other": ("other", "-V")},
    handshake=Handshake(("bench", "-p", "{port}"), ("bench", "-s", "8", "{address}")),
    transports={"tcp": {"LIB_TLS": "tcp"}},
    unable={"shm": "it has no memory"},
)


def test_a_library_below_mpi_has_other_features_than_a_stack() -> None:
    assert LIBRARY.features == ["userlevel", "bench", "other"]
    assert Stack(name="s").features == ["mpi"]


def test_what_a_library_cannot_has_a_reason_and_no_cure() -> None:
    assert LIBRARY.without("shm") == ("lib cannot use shm: it has no memory", "")
    assert LIBRARY.without("mx") == ("no settings for lib on mx", "add them to lib in site/stacks.py")


def test_a_meeting_of_programs_by_their_paths_at_an_address() -> None:
    assert LIBRARY.handshake is not None
    made = handshake_at(LIBRARY.handshake.arguments({"bench": "/usr/bin/bench"}), "::1")
    server, client = ["/usr/bin/bench", "-p", "{port}"], ["/usr/bin/bench", "-s", "8", "::1"]
    assert made == ["--", *server, "::", *client]


def test_what_vanished_since_set_up(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    mpi = Installed(stack="m", source="here", version="1", prefix=str(tmp_path), apps=str(tmp_path))
    library = mpi.model_copy(update={"programs": {"bench": str(tmp_path / "bench")}})
    assert mpi.missing_file == str(tmp_path / "bin/mpirun")
    assert library.missing_file == str(tmp_path / "bench")
    for name in ("bin/mpirun", "bench"):
        (tmp_path / name).touch()
    assert mpi.missing_file == library.missing_file == f"{tmp_path}/bin/fabricbench-launch"
    (tmp_path / "bin/fabricbench-launch").touch()
    assert mpi.missing_file == library.missing_file == ""
