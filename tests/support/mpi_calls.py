# SPDX-License-Identifier: Apache-2.0
"""Generates a program for two ranks that calls every function of the profiler's table, in C and three Fortran bindings.

A scenario is a list of calls. ``Name key=value …`` calls ``MPI_Name``; an argument that it does not name has the value
in DEFAULTS. ``loop Name`` repeats the call until its flag is true. ``n`` is a number that no other scenario has, so
that each message size belongs to one scenario. Both ranks run the same calls.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "apps/profiler/functions.txt"
BINDINGS = ("c", "mpif", "mpi", "mpi_f08")
INTEGER_BYTES = 4
LONGER = 5  # by how many elements the buffer of a receive is longer than the message, where they differ

# Functions that the generated program does not call. spawned.c calls all but Comm_spawn_multiple and Comm_join.
LEFT_OUT = {"Comm_spawn", "Comm_spawn_multiple", "Comm_accept", "Comm_connect", "Comm_disconnect", "Comm_join"}

DEFAULTS = {
    "buf": "sbuf", "buffer": "sbuf", "sendbuf": "sbuf", "recvbuf": "rbuf", "origin_addr": "sbuf",
    "result_addr": "rbuf", "compare_addr": "cbuf", "baseptr": "base", "base": "wbuf",
    **dict.fromkeys(("count", "sendcount", "recvcount", "origin_count", "target_count", "result_count"), "n"),
    **dict.fromkeys(("datatype", "type", "sendtype", "recvtype", "origin_datatype", "target_datatype"), "int"),
    **dict.fromkeys(("result_datatype", "etype", "filetype"), "int"),
    "dest": "peer", "source": "peer", "target_rank": "peer", "rank": "peer",
    "tag": "7", "sendtag": "7", "recvtag": "7", "root": "0", "op": "sum", "assert": "0", "lock_type": "shared",
    **dict.fromkeys(("comm", "comm_old", "old_comm", "local_comm"), "world"), "bridge_comm": "world",
    **dict.fromkeys(("newcomm", "new_comm", "comm_cart", "comm_graph", "comm_dist_graph", "newintercomm"), "c1"),
    "intercomm": "c2", "request": "r1", "message": "m1", "status": "st",
    "array_of_requests": "rq", "array_of_statuses": "sts", "array_of_indices": "ix", "outcount": "outcount",
    "incount": "2", "flag": "flag", "index": "idx", "info": "noinfo", "win": "w1", "group": "g1", "fh": "f1",
    **dict.fromkeys(("sendcounts", "recvcounts"), "counts"), **dict.fromkeys(("sendtypes", "recvtypes"), "types"),
    **dict.fromkeys(("sdispls", "rdispls", "displs"), "displs"), "target_disp": "zero", "disp": "offset",
    "offset": "offset", "size": "wbytes", "disp_unit": "4", "color": "0", "key": "0", "split_type": "byshared",
    "ndims": "1", "dims": "two", "periods": "yes", "remain_dims": "yes", "reorder": "no", "high": "no",
    "local_leader": "0", "remote_leader": "peer", "nnodes": "2", "edges": "edges", "datarep": "native", "amode": "mode",
    "filename": "filename", "whence": "seekset", "n": "1", "nodes": "me", "degrees": "ones", "targets": "peers",
    "weights": "unweighted", "indegree": "1", "sources": "peers", "sourceweights": "unweighted", "outdegree": "1",
    "destinations": "peers", "destweights": "unweighted",
}  # fmt: skip


@dataclass(frozen=True)
class Prototype:
    name: str
    size: str
    arguments: tuple[tuple[str, str], ...]  # (C type, name); a type of an array ends with []


def prototypes() -> dict[str, Prototype]:
    """Returns the functions of the table by name without ``MPI_``."""
    found = {}
    for line in TABLE.read_text().splitlines():
        if match := re.fullmatch(r"\w+ \| (.*) \| .* \| MPI_(\w+)\((.*)\)", line):
            parts = [re.fullmatch(r"(.*?)(\w+)(\[\])?", part.strip()) for part in match[3].split(",")]
            arguments = [(p[1].strip() + (p[3] or ""), p[2]) for p in parts if p and p[2] != "void"]
            found[match[2]] = Prototype(match[2], match[1].strip("-"), tuple(arguments))
    return found


@dataclass
class Expected:
    """What the profile of one rank must hold."""

    calls: Counter[str] = field(default_factory=Counter)
    at_least: set[str] = field(default_factory=set)  # functions that are called until a flag is true
    sizes: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))


class Program:
    """Renders scenarios in one binding and keeps what each rank's profile must hold."""

    def __init__(self, binding: str) -> None:
        self.binding = binding
        self.table = prototypes()
        self.lines: list[str] = []
        self.expected = (Expected(), Expected())
        self.requests: dict[str, tuple[int, int]] = {}  # the message size of each rank, by variable
        self.number = 20

    def scenario(self, text: str) -> None:
        self.number += 1
        for line in text.strip().splitlines():
            words = line.split()
            if line == "raw nulls":
                self.requests.clear()
            if words[0] == "raw":
                self.lines.append(RAW[words[1]][self.binding == "c"].replace("{n}", str(self.number)))
            elif words[0] == "loop":
                self.call(words[1], dict(word.split("=") for word in words[2:]), loop=True)
            else:
                self.call(words[0], dict(word.split("=") for word in words[1:]))

    def call(self, name: str, named: dict[str, str], loop: bool = False) -> None:
        prototype = self.table[name]
        tokens = {
            argument: named.get(argument, DEFAULTS.get(argument, argument)) for _, argument in prototype.arguments
        }
        values = [self.render(name, kind, tokens[argument]) for kind, argument in prototype.arguments]
        self.expect(prototype, tokens, loop)
        if self.binding == "c":
            text = f"MPI_{name}({', '.join(values)});"
            until = "outcount < 1" if name == "Testsome" else "!flag"
            self.lines.append(f"do {text} while ({until});" if loop else text)
        else:
            end = [] if name == "Pcontrol" else ["ierr"]
            arguments = ", &\n    ".join([*values, *end])
            text = f"call MPI_{name}({arguments})"
            until = "outcount < 1" if name == "Testsome" else ".not. flag"
            begin = f"flag = .false.; outcount = 0\ndo while ({until})\n"
            self.lines.append(f"{begin}{text}\nend do" if loop else text)

    def render(self, name: str, kind: str, token: str) -> str:
        if self.binding != "c":
            value = FORTRAN.get(token, token)
            if token == "detached" and self.binding != "mpi_f08":
                value = "abuf"
        else:
            value = C.get(token, token)
            variable = not value.startswith("MPI_") and not re.fullmatch(r"\d+", value)
            is_address = kind.endswith("*") and not kind.endswith("char *")
            if is_address and variable and (not kind.endswith("void *") or token in ("base", "detached")):
                value = f"&{value}"
        return {"n": str(self.number), "LONGER": str(self.number + LONGER)}.get(value, value)

    def expect(self, prototype: Prototype, tokens: dict[str, str], loop: bool) -> None:
        for rank, expected in enumerate(self.expected):
            name = f"MPI_{prototype.name}"
            expected.calls[name] += 1
            if loop:
                expected.at_least.add(name)
            size = self.size(prototype, tokens, rank)
            if size is not None:
                expected.sizes[name][size] += 1
            for done in self.completed(prototype.name, tokens):
                if done[rank] >= 0:
                    expected.sizes[name][done[rank]] += 1
        if "request" in tokens and not prototype.name.startswith(("Wait", "Test", "Start", "Request_free", "Cancel")):
            sizes = [self.size(prototype, tokens, rank) for rank in (0, 1)]
            first, second = (-1 if size is None else size for size in sizes)
            self.requests[tokens["request"]] = (first, second)

    def completed(self, name: str, tokens: dict[str, str]) -> list[tuple[int, int]]:
        """The sizes of the operations that a call completes or starts. Arrays have two requests."""
        if not name.startswith(("Wait", "Test", "Start")):
            return []
        names = [tokens["request"]] if "request" in tokens else ["rq1", "rq2"]
        return [self.requests[each] for each in names if each in self.requests]

    def size(self, prototype: Prototype, tokens: dict[str, str], rank: int) -> int | None:
        """Evaluates the table's size for this rank. All datatypes are MPI_INT, all arrays have two equal counts."""
        text = prototype.size
        if not text:
            return None
        if tokens.get("dest", tokens.get("source")) == "null":
            return 0
        if " at root, " in text:
            text = text.split(" at root, ")[rank != 0]
        total = 0
        if tokens.get("sendbuf") == "inplace":
            text = text.split(" + ")[-1] + " + " + text.split(" + ")[-1]
        for part in text.split(" + "):
            times = 2 if part.startswith("sum(") else 1
            counts = re.findall(r"\w*count\w*", part)
            total += times * self.count(prototype.name, tokens.get(counts[0], "n") if counts else "1") * INTEGER_BYTES
        return total

    def count(self, name: str, token: str) -> int:
        """A receive counts what arrives. Fortran bindings count what is posted if the status is ignored."""
        if token == "longer":
            return self.number
        if token == "posted":
            return self.number + (0 if self.binding == "c" else LONGER)
        return int(token) if token.isdigit() else self.number


C = {
    "int": "MPI_INT", "sum": "MPI_SUM", "world": "MPI_COMM_WORLD", "self": "MPI_COMM_SELF",
    "ignore": "MPI_STATUS_IGNORE", "ignores": "MPI_STATUSES_IGNORE", "null": "MPI_PROC_NULL", "noinfo": "MPI_INFO_NULL",
    "shared": "MPI_LOCK_SHARED",
    "byshared": "MPI_COMM_TYPE_SHARED", "yes": "yes", "no": "0", "native": '"native"', "seekset": "MPI_SEEK_SET",
    "rq1": "rq[0]", "rq2": "rq[1]", "longer": "LONGER", "posted": "LONGER", "unweighted": "MPI_UNWEIGHTED",
    "any": "MPI_ANY_SOURCE", "detached": "base", "wbytes": "wbytes", "filename": "argv[1]", "inplace": "MPI_IN_PLACE",
}  # fmt: skip
FORTRAN = C | {
    "int": "MPI_INTEGER", "yes": "yes", "no": ".false.", "native": "'native'", "rq1": "rq(1)", "rq2": "rq(2)",
    "filename": "trim(path)", "detached": "base",
}  # fmt: skip

RAW = {
    "counts": ("counts = {n}", "counts[0] = counts[1] = {n};"),
    "nulls": ("rq = MPI_REQUEST_NULL", "rq[0] = rq[1] = MPI_REQUEST_NULL;"),
    "group": ("call MPI_Comm_group(MPI_COMM_WORLD, g1, ierr)", "MPI_Comm_group(MPI_COMM_WORLD, &g1);"),
    "peergroup": (
        "call MPI_Comm_group(MPI_COMM_WORLD, g2, ierr)\ncall MPI_Group_incl(g2, 1, peers, g1, ierr)",
        "MPI_Comm_group(MPI_COMM_WORLD, &g2); MPI_Group_incl(g2, 1, peers, &g1);",
    ),
    "attach": ("call MPI_Buffer_attach(abuf, 4*size(abuf), ierr)", "MPI_Buffer_attach(abuf, sizeof abuf);"),
    "type": (
        "call MPI_Type_contiguous(3, MPI_INTEGER, t1, ierr)\ncall MPI_Type_commit(t1, ierr)",
        "MPI_Type_contiguous(3, MPI_INT, &t1); MPI_Type_commit(&t1);",
    ),
}
