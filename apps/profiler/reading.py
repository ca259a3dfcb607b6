# SPDX-License-Identifier: Apache-2.0
"""The functions of the table, and how the wrappers of a binding read their arguments."""

import re
from dataclasses import dataclass

CLASSES = {
    "start", "end", "send", "recv", "irecv", "sendrecv", "persistent", "activate", "probe", "complete", "release",
    "cancel", "collective", "icollective", "onesided", "sync", "window", "comm", "free", "io", "iio", "region",
}  # fmt: skip


@dataclass(frozen=True)
class Argument:
    type: str
    name: str
    is_array: bool
    header_type: str = ""  # in the stack's header, if it differs in qualifiers
    header_is_array: bool = False

    @property
    def declaration(self) -> str:
        is_array = self.header_is_array if self.header_type else self.is_array
        return f"{self.header_type or self.type} {self.name}{'[]' if is_array else ''}"


@dataclass(frozen=True)
class Function:
    name: str
    kind_of_call: str  # the class
    size: str
    event: str
    event_at_root: bool
    arguments: tuple[Argument, ...]

    @property
    def id(self) -> str:
        return f"FUNCTION_{self.name}"

    @property
    def kind(self) -> str:
        if self.kind_of_call == "persistent":
            return "KIND_RECEIVE" if "Recv" in self.name else "KIND_SEND"
        kinds = {"send": "KIND_SEND", "irecv": "KIND_RECEIVE", "complete": "KIND_COMPLETE", "activate": "KIND_ACTIVATE"}
        return kinds.get(self.kind_of_call, "KIND_OTHER")

    def has(self, name: str) -> bool:
        return any(argument.name == name for argument in self.arguments)

    def first(self, type_name: str) -> str:
        """The first argument passed by value with this type, or an empty string."""
        return next((a.name for a in self.arguments if a.type == type_name and not a.is_array), "")


class Binding:
    """Builds the C expressions that read the arguments of a C function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.types = {argument.name: argument for argument in function.arguments}

    def value(self, name: str) -> str:
        return name

    def handle(self, name: str) -> str:
        """The handle that a pointer argument refers to."""
        return f"*{name}"

    def array(self, name: str) -> str:
        return name

    def weighted(self, counts: str, types: str, number: str) -> str:
        return f"weighted_sum(thread, {counts}, {types}, {number})"

    def in_place(self, name: str) -> str:
        return f"{name} == MPI_IN_PLACE"

    succeeded = "result == MPI_SUCCESS"


class Fortran(Binding):
    """Builds the C expressions that read the arguments of a Fortran entry point, which are addresses."""

    def value(self, name: str) -> str:
        kind = self.types[name].type
        if kind.startswith("MPI_"):
            return f"{self.convert(kind)}(fortran_integer({name}))"
        return f"fortran_integer({name})"

    def handle(self, name: str) -> str:
        return f"{self.convert(self.types[name].type.rstrip(' *'))}(fortran_integer({name}))"

    def convert(self, kind: str) -> str:
        return {"MPI_Datatype": "MPI_Type_f2c"}.get(kind, f"{kind}_f2c")

    def array(self, name: str) -> str:
        return f"(const int*){name}"

    def weighted(self, counts: str, types: str, number: str) -> str:
        return f"weighted_sum_fortran(thread, (const int*){counts}, {types}, {number})"

    def in_place(self, name: str) -> str:
        return f"fortran_in_place({name}, binding)"

    succeeded = "fortran_succeeded(ierror)"


def number_of(binding: Binding, counts: str) -> str:
    if "Neighbor" in binding.function.name or "neighbor" in binding.function.name:
        return "destinations_in(members)" if counts.startswith("send") else "sources_in(members)"
    return "peers_in(members)"


def product(binding: Binding, text: str) -> str:
    """Translates one product of the table's size language into C."""
    if match := re.fullmatch(r"sum\((\w+) \* (\w+)\)", text):
        return binding.weighted(match[1], match[2], number_of(binding, match[1]))
    if match := re.fullmatch(r"sum\((\w+)\) \* (\w+)", text):
        total = f"sum({binding.array(match[1])}, {number_of(binding, match[1])})"
        return f"{total} * type_bytes(thread, {binding.value(match[2])})"
    if match := re.fullmatch(r"first\((\w+)\) \* (\w+)", text):
        return f"positive(*{binding.array(match[1])}) * type_bytes(thread, {binding.value(match[2])})"
    if match := re.fullmatch(r"(\w+) \* (\w+)", text):
        count, kind = match[1], match[2]
        if kind not in binding.types and kind == "datatype":
            kind = "type"
        return f"positive({binding.value(count)}) * type_bytes(thread, {binding.value(kind)})"
    return f"type_bytes(thread, {binding.value(text)})"


def size(binding: Binding) -> str:
    text = binding.function.size
    if " at root, " in text:
        root, other = (product(binding, part) for part in text.split(" at root, "))
        return f"facts.root ? {root} : {other}"
    if " + " in text:
        send, receive = (product(binding, part) for part in text.split(" + "))
        if binding.function.name.lower().startswith(("mpi_neighbor", "mpi_ineighbor")):
            return f"{send} + {receive}"
        return f"{binding.in_place('sendbuf')} ? 2 * ({receive}) : {send} + {receive}"
    return product(binding, text)


def group(binding: Binding) -> list[str]:
    """Declares `members`, the facts about the communicator or window of the call."""
    function = binding.function
    if win := function.first("MPI_Win"):
        return [f"const struct group_facts* members = peers_of_win(thread, {binding.value(win)});"]
    if comm := function.first("MPI_Comm"):
        return [f"const struct group_facts* members = peers_of_comm(thread, {binding.value(comm)});"]
    return []


def peer(binding: Binding) -> str:
    function = binding.function
    names = ("dest", "source", "target_rank") if function.kind_of_call != "sync" else ("rank",)
    for name in names:
        if function.has(name):
            return f"peers_class(members, {binding.value(name)})"
    if function.kind_of_call in ("recv", "irecv"):
        return "PEER_ANY"  # of a matched message
    return "members ? members->span : PEER_ANY" if group(binding) else "PEER_ABSENT"
