# SPDX-License-Identifier: Apache-2.0
"""The witness, preloaded into small programs that talk over the loopback interface."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

# Its first argument says what it does; it sends to itself, and prints what the program could notice.
VICTIM = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int listener, sent_bytes = 1000;

static int listen_any(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd, (void*)&address, sizeof address) || listen(fd, 64)) exit(90);
  return fd;
}

static void pair(int fds[2]) {
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  getsockname(listener, (void*)&address, &length);
  fds[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fds[0], (void*)&address, sizeof address)) exit(91);
  if ((fds[1] = accept(listener, NULL, NULL)) < 0) exit(92);
}

static void move(const int fds[2]) {
  char data[65536] = {0};
  if (send(fds[0], data, (size_t)sent_bytes, 0) != sent_bytes) exit(93);
  if (recv(fds[1], data, (size_t)sent_bytes, MSG_WAITALL) != sent_bytes) exit(94);
}

static void moved(int fds[2]) { pair(fds), move(fds); }

static int pairs[500][2];

static void* close_some(void* start) {
  for (long i = (long)start; i < 500; i += 10) {
    shutdown(pairs[i][0], SHUT_WR);
    close(pairs[i][0]), close(pairs[i][1]);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "close";
  int fds[2], extra;
  listener = listen_any();
  if (!strcmp(what, "close")) {
    moved(fds);
    errno = 77;
    if (close(fds[0]) || close(fds[1]) || errno != 77) return 95;
    printf("close of -1: %d %s\n", close(-1), strerror(errno));
    printf("shutdown: %d %s\n", shutdown(listener + 100, SHUT_RD), strerror(errno));
    printf("dup2: %d %s\n", dup2(-1, 200), strerror(errno));
    printf("next: %d\n", dup(1));
    return 42;
  }
  if (!strcmp(what, "once")) {
    moved(fds);
    extra = dup(fds[0]);
    shutdown(fds[0], SHUT_WR), close(fds[0]), close(extra);
  } else if (!strcmp(what, "dup2")) {
    moved(fds);
    dup2(1, fds[0]), dup3(1, fds[1], 0);
  } else if (!strcmp(what, "close_range")) {
    moved(fds);
    if (close_range(3, ~0U, 0)) return 96;
  } else if (!strcmp(what, "_exit") || !strcmp(what, "_Exit") || !strcmp(what, "quick_exit")) {
    moved(fds);
    memset(malloc(1) - 64, 0x5a, 4096); /* a broken heap */
    if (what[1] == 'e') _exit(7);
    if (what[1] == 'E') _Exit(7);
    quick_exit(7);
  } else if (!strcmp(what, "kill")) {
    moved(fds);
    kill(getpid(), SIGKILL);
  } else if (!strcmp(what, "threads")) {
    pthread_t threads[10];
    for (int i = 0; i < 500; i++) sent_bytes = i + 1, moved(pairs[i]);
    for (long i = 0; i < 10; i++) pthread_create(&threads[i], NULL, close_some, (void*)i);
    for (int i = 0; i < 10; i++) pthread_join(threads[i], NULL);
  } else if (!strcmp(what, "overflow")) {
    for (int i = 0; i < 2100; i++) moved(fds), shutdown(fds[0], SHUT_WR), close(fds[0]), close(fds[1]);
  } else if (!strcmp(what, "fork")) {
    moved(fds);
    pid_t child = fork();
    if (!child) moved(fds), close(fds[0]), exit(0);
    waitpid(child, NULL, 0);
    close(fds[0]), close(fds[1]);
  } else if (!strcmp(what, "fork-idle")) {
    moved(fds);
    close(fds[0]), close(fds[1]);
    pid_t child = fork();
    if (!child) exit(0);
    waitpid(child, NULL, 0);
  } else if (!strcmp(what, "vfork")) {
    moved(fds);
    pid_t child = vfork();
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
    move(fds);
  } else if (!strcmp(what, "reset")) {
    struct linger abort_it = {.l_onoff = 1};
    moved(fds);
    setsockopt(fds[0], SOL_SOCKET, SO_LINGER, &abort_it, sizeof abort_it);
    close(fds[0]), close(fds[1]);
  } else if (!strcmp(what, "others")) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    close(fds[0]); /* the other end stays open */
    getsockname(listener, (void*)&address, &length);
    extra = socket(AF_INET, SOCK_DGRAM, 0);
    connect(extra, (void*)&address, sizeof address);
    close(dup(extra)), close(extra);
    close(socket(AF_INET, SOCK_DGRAM, 0)), close(socket(AF_INET, SOCK_STREAM, 0)); /* not connected */
  } else if (!strcmp(what, "shared")) {
    extra = memfd_create("segment", 0);
    if (ftruncate(extra, 8192)) return 97;
    mmap(NULL, 8192, PROT_READ, MAP_SHARED, extra, 0);
    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, extra, 0);
  } else if (!strcmp(what, "unsetenv")) {
    clearenv();
    if (chdir("/")) return 98;
  }
  return 0;
}
"""

Json = dict[str, Any]
Run = Callable[..., list[Json]]


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled."""
    folder = tmp_path_factory.mktemp("victim")
    (folder / "victim.c").write_text(VICTIM)
    command = ["cc", "-std=gnu11", "-w", "-O1", "-pthread", "-o", "victim", "victim.c"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return folder / "victim"


def environment(witness: Path, out: Path | None, **extra: str) -> dict[str, str]:
    """That of this process without any rank, with the witness preloaded."""
    ranks = ("PMI", "OMPI", "SLURM", "FABRICBENCH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ranks)}
    where = {"FABRICBENCH_WITNESS_DIR": str(out)} if out else {}
    return {**kept, "LD_PRELOAD": str(witness), **where, **extra}


def reports(out: Path) -> list[Json]:
    """All files, the ones of fork children last; nothing else is left in the directory."""
    assert not [path for path in out.iterdir() if not path.name.startswith("witness.")]
    found: list[Json] = [json.loads(path.read_text("utf-8")) for path in sorted(out.iterdir())]
    return sorted(found, key=lambda report: bool(report["forked"]))


@pytest.fixture
def run(witness: Path, victim: Path, tmp_path: Path) -> Run:
    """Runs the program; returns what the witness wrote."""

    def run_it(what: str, status: int = 0, extra: Mapping[str, str] | None = None) -> list[Json]:
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        env = environment(witness, out, **(extra or {}))
        done = subprocess.run([victim, what], env=env, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (status, b"")
        return reports(out)

    return run_it


def by_tx(report: Json) -> list[Json]:
    """The sockets, those that sent first."""
    sockets: list[Json] = report["sockets"]
    return sorted(sockets, key=lambda entry: -int(entry["tx_bytes"]))


def counts(entry: Json) -> tuple[int, int, int, int]:
    """Bytes and segments of one socket."""
    return entry["tx_bytes"], entry["rx_bytes"], entry["tx_segs"], entry["rx_segs"]


def test_report_is_complete(run: Run, victim: Path) -> None:
    (report,) = run("once")
    assert list(report) == [
        "schema", "host", "rank", "world_size", "pid", "forked", "exe", "ended", "sockets", "dropped",
        "udp_sockets", "unix_sockets", "devices", "libraries", "shared_maps",
    ]  # fmt: skip
    assert (report["schema"], report["host"]) == (1, socket.gethostname())
    assert (report["rank"], report["world_size"]) == (None, None)
    assert (report["exe"], report["ended"], report["forked"]) == (str(victim), "exit", False)
    assert report["dropped"] == {"sockets": 0, "tx_bytes": 0, "rx_bytes": 0, "tx_segs": 0, "rx_segs": 0}
    assert (report["devices"], report["libraries"]) == ([], [])


@pytest.mark.parametrize(
    ("what", "status", "ended"),
    [
        ("once", 0, "exit"),
        ("dup2", 0, "exit"),
        ("close_range", 0, "exit"),
        ("close", 42, "exit"),
        ("_exit", 7, "_exit"),
        ("_Exit", 7, "_exit"),
        ("quick_exit", 7, "_exit"),
        ("reset", 0, "exit"),
    ],
)
def test_each_socket_counts_once_however_it_ends(run: Run, what: str, status: int, ended: str) -> None:
    (report,) = run(what, status)
    sender, receiver = by_tx(report)
    assert report["ended"] == ended
    assert counts(sender) == (1000, 0, 1, 0)
    assert counts(receiver) == (0, 1000, 0, 1)
    assert (sender["local"], sender["peer"]) == (receiver["peer"], receiver["local"])
    assert sender["local"].startswith("127.0.0.1:")
    assert sender["inode"] != receiver["inode"]


TALK = """
import socket, sys
family, address, port, role, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
here = socket.AF_INET6 if family == "6" else socket.AF_INET
if role == "server":
    with socket.socket(here) as server:
        server.bind((address, port))
        server.listen()
        print(server.getsockname()[1], flush=True)
        link, _ = server.accept()
    while size > 0:
        size -= len(link.recv(min(size, 65536)))
    link.sendall(b"done")
    link.recv(1)
else:
    link = socket.socket(here)
    link.connect((address, port))
    link.sendall(bytes(size))
    link.recv(4, socket.MSG_WAITALL)
    if len(sys.argv) > 6:
        import os
        os.kill(os.getpid(), 9)
link.close()
"""


def talk(witness: Path, out: Path, family: str, address: str, server_address: str, *more: str) -> int:
    """A server and a client, each a rank of its own; returns the client's status."""
    size = "3000000"
    command = [sys.executable, "-c", TALK, family]
    with subprocess.Popen(
        [*command, server_address, "0", "server", size],
        env=environment(witness, out, PMI_RANK="0", PMI_SIZE="2"),
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout
        port = server.stdout.readline().strip()
        env = environment(witness, out, PMI_RANK="1", PMI_SIZE="2")
        client = subprocess.run([*command, address, port, "client", size, *more], env=env, timeout=60)
    return client.returncode


@pytest.mark.parametrize(
    ("family", "address", "bind", "begins"),
    [
        ("4", "127.0.0.1", "127.0.0.1", "127.0.0.1:"),
        ("6", "::1", "::1", "[::1]:"),
        ("6", "::ffff:127.0.0.1", "::ffff:127.0.0.1", "127.0.0.1:"),
    ],
)
def test_both_ends_agree(witness: Path, tmp_path: Path, family: str, address: str, bind: str, begins: str) -> None:
    try:
        with socket.socket(socket.AF_INET6 if family == "6" else socket.AF_INET) as probe:
            probe.bind((bind, 0))
    except OSError as error:
        pytest.skip(f"no {bind} here: {error}")
    assert talk(witness, tmp_path, family, address, bind) == 0
    server, client = sorted(reports(tmp_path), key=lambda report: int(report["rank"]))
    (there,), (here,) = server["sockets"], client["sockets"]
    assert (here["tx_bytes"], here["rx_bytes"]) == (3000000, 4)
    assert (there["tx_bytes"], there["rx_bytes"]) == (4, 3000000)
    assert (here["local"], here["peer"]) == (there["peer"], there["local"])
    assert here["peer"].startswith(begins)


def test_killed_process_leaves_nothing_and_its_peer_has_the_count(witness: Path, tmp_path: Path) -> None:
    assert talk(witness, tmp_path, "4", "127.0.0.1", "127.0.0.1", "killed") == -signal.SIGKILL
    (server,) = reports(tmp_path)
    assert server["rank"] == 0
    assert server["sockets"][0]["rx_bytes"] in (3000000, 3000001)  # the kernel counts a FIN as a byte


def test_killed_alone_leaves_nothing(run: Run) -> None:
    assert run("kill", -signal.SIGKILL) == []


def test_threads_close_concurrently(run: Run) -> None:
    (report,) = run("threads")
    assert len(report["sockets"]) == 1000
    assert sorted(entry["tx_bytes"] for entry in report["sockets"])[500:] == list(range(1, 501))
    assert sorted(entry["rx_bytes"] for entry in report["sockets"])[500:] == list(range(1, 501))
    assert report["dropped"]["sockets"] == 0


def test_full_table_goes_into_the_dropped_counters(run: Run) -> None:
    (report,) = run("overflow")
    kept, dropped = report["sockets"], report["dropped"]
    assert (len(kept), dropped["sockets"]) == (4096, 104)
    for key, total in (("tx_bytes", 2100000), ("rx_bytes", 2100000), ("tx_segs", 2100), ("rx_segs", 2100)):
        assert sum(entry[key] for entry in kept) + dropped[key] == total


def test_fork_child_reports_what_it_samples(run: Run) -> None:
    parent, child = run("fork")
    assert (parent["forked"], child["forked"]) == (False, True)
    assert [entry["tx_bytes"] for entry in by_tx(parent)] == [1000, 0]
    assert parent["pid"] != child["pid"]
    # Its own pair, and the inherited one, still open at its end, under the parent's inodes.
    assert [entry["tx_bytes"] for entry in by_tx(child)] == [1000, 1000, 0, 0]
    inherited = {entry["inode"] for entry in parent["sockets"]}
    assert len(inherited & {entry["inode"] for entry in child["sockets"]}) == 2


def test_fork_child_without_sockets_writes_nothing(run: Run) -> None:
    (report,) = run("fork-idle")
    assert not report["forked"]
    assert len(report["sockets"]) == 2


def test_vfork_child_does_not_speak_for_its_parent(run: Run) -> None:
    (report,) = run("vfork")
    assert report["ended"] == "exit"
    assert [entry["tx_bytes"] for entry in by_tx(report)] == [2000, 0]


def test_other_sockets_are_counted(run: Run) -> None:
    (report,) = run("others")
    assert (report["udp_sockets"], report["unix_sockets"], report["sockets"]) == (1, 2, [])


def test_shared_maps(run: Run) -> None:
    (report,) = run("shared")
    assert report["shared_maps"] == {"count": 1, "bytes": 8192}


@pytest.mark.parametrize("name", ["libfabric.so.1", "libtcp-fi.so", "mca_btl_tcp.so", "libfabricbench_x.so"])
def test_transport_libraries(run: Run, tmp_path: Path, witness: Path, name: str) -> None:
    library = tmp_path / name
    source = tmp_path / "empty.c"
    source.write_text("int fabricbench_test_nothing;\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    (report,) = run("once", extra={"LD_PRELOAD": f"{witness} {library}"})
    assert report["libraries"] == ([] if "fabricbench" in name else [name])


@pytest.mark.parametrize(
    ("variables", "rank", "size"),
    [
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "SLURM_PROCID": "9", "SLURM_NTASKS": "9"}, 3, 4),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1"}, 1, 2),
        ({"PMIX_RANK": "5"}, 5, None),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "16"}, 0, 16),
        ({"PMI_RANK": "../x", "PMI_SIZE": "-1"}, None, None),
    ],
)
def test_rank(run: Run, tmp_path: Path, variables: dict[str, str], rank: int, size: int | None) -> None:
    (report,) = run("once", extra=variables)
    assert (report["rank"], report["world_size"]) == (rank, size)
    name = f"witness.{socket.gethostname()}.{'x' if rank is None else rank}.json"
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]


def test_an_existing_report_is_kept(run: Run, tmp_path: Path) -> None:
    (first,) = run("once")
    second = next(report for report in run("close", 42) if report != first)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    host = socket.gethostname()
    assert names == {f"witness.{host}.x.json", f"witness.{host}.x.{second['pid']}.json"}


def test_directory_may_be_relative_and_survives_a_cleared_environment(
    witness: Path, victim: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    subprocess.run([victim, "unsetenv"], env=environment(witness, Path("out")), cwd=tmp_path, check=True)
    assert len(reports(tmp_path / "out")) == 1


@pytest.mark.parametrize("out", [None, "missing", "file", "long"])
def test_the_program_does_not_notice(witness: Path, victim: Path, tmp_path: Path, out: str | None) -> None:
    (tmp_path / "file").write_text("")
    directory = tmp_path / ("x" * 300 if out == "long" else out) if out else None
    plain = subprocess.run([victim, "close"], capture_output=True, timeout=60)
    env = environment(witness, directory)
    watched = subprocess.run([victim, "close"], env=env, cwd=tmp_path, capture_output=True, timeout=60)
    assert plain.returncode == watched.returncode == 42
    assert plain.stdout == watched.stdout != b""
    assert plain.stderr == watched.stderr == b""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_read_only_directory_is_silent(witness: Path, victim: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        directory = Path("/proc")  # where not even root may create a file
    else:
        directory = tmp_path
        directory.chmod(0o555)
    done = subprocess.run([victim, "once"], env=environment(witness, directory), capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_hostile_program_name(witness: Path, victim: Path, tmp_path: Path) -> None:
    name = b'a "quoted"\\\n\x01\x7f\xff\xed\xa0\x80 \xc3\xa9'
    copy = os.fsencode(tmp_path) + b"/" + name
    shutil.copy(os.fsencode(victim), copy)
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run([copy, b"once"], env=environment(witness, out), check=True, timeout=60)
    (report,) = reports(out)
    assert report["exe"] == str(tmp_path) + '/a "quoted"\\\n\x01\x7f' + "\N{REPLACEMENT CHARACTER}" * 4 + " é"


def test_helpers_are_recognisable(witness: Path, tmp_path: Path) -> None:
    program = "import subprocess; subprocess.run(['/bin/sh', '-c', 'exit 0'])"
    env = environment(witness, tmp_path, PMI_RANK="0")
    subprocess.run([sys.executable, "-c", program], env=env, check=True, timeout=60)
    shell, python = sorted(reports(tmp_path), key=lambda report: "python" in report["exe"])
    assert shell["exe"] == os.path.realpath("/bin/sh")
    assert python["exe"] == os.path.realpath(sys.executable)
    assert shell["pid"] != python["pid"]


def test_only_the_interposed_symbols_are_exported(witness: Path) -> None:
    command = ["nm", "-D", "--defined-only", str(witness)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    names = {line.split()[-1] for line in lines}
    assert names == {"_Exit", "_exit", "close", "close_range", "closefrom", "dup2", "dup3", "shutdown"}
