# SPDX-License-Identifier: Apache-2.0
"""The statements of a wrapper that call the MPI function, with the delays that inject.h describes around the call."""

from reading import Binding, Fortran

NOTHING_COMPLETE = {"C": ["*flag = 0;"], "Fortran": ["*(MPI_Fint*)flag = 0;", "*(MPI_Fint*)ierror = MPI_SUCCESS;"]}


def injected(binding: Binding, call: str, status: str) -> list[str]:
    """Returns the statements of one call. ``status``: the C expression of the call's statuses, which may be NULL."""
    function = binding.function
    lines = [] if isinstance(binding, Fortran) else ["int result = MPI_SUCCESS;"]
    if function.kind_of_call == "complete":
        return [*lines, *_complete(binding, call, status)]
    if function.kind_of_call == "probe":
        return [*lines, *_probe(binding, call)]
    return [*lines, *_before(binding), call, *_after(binding, status)]


def _before(binding: Binding) -> list[str]:
    function = binding.function
    if function.kind_of_call in ("send", "sendrecv"):
        return [f"if (injector.active) inject_send(thread, {binding.value('comm')}, {binding.value('dest')});"]
    if function.kind_of_call == "activate":
        return [f"if (injector.active) inject_starting(thread, {_count(binding)});"]
    if function.kind_of_call == "release":
        return [f"inject_forget(handle_of({binding.handle('request')}));"]
    return []


def _after(binding: Binding, status: str) -> list[str]:
    function = binding.function
    done = f"if (injector.active && {binding.succeeded})"
    if function.name == "MPI_Recv" or function.kind_of_call == "sendrecv":
        tag = "recvtag" if function.has("recvtag") else "tag"
        place = ", ".join(binding.value(name) for name in ("comm", "source", tag))
        return [done, f"  inject_received(thread, {place}, {_bytes(binding)}, {status});"]
    if function.name == "MPI_Imrecv":
        return [done, f"  inject_posted_matched({binding.handle('request')}, {_bytes(binding)});"]
    if function.kind == "KIND_RECEIVE":
        place = ", ".join(binding.value(name) for name in ("comm", "source", "tag"))
        persistent = "true" if function.kind_of_call == "persistent" else "false"
        request = binding.handle("request")
        return [done, f"  inject_posted(thread, {request}, {place}, {_bytes(binding)}, {persistent});"]
    if function.kind_of_call == "persistent":
        place = ", ".join(binding.value(name) for name in ("comm", "dest"))
        return [done, f"  inject_send_init(thread, {binding.handle('request')}, {place});"]
    if function.kind_of_call == "activate":
        return [done, f"  inject_started(thread, {_count(binding)});"]
    return []


def _bytes(binding: Binding) -> str:
    """Returns the posted size of the receive."""
    count, kind = ("recvcount", "recvtype") if binding.function.has("recvcount") else ("count", "datatype")
    kind = kind if binding.function.has(kind) else "type"
    return f"positive({binding.value(count)}) * type_bytes(thread, {binding.value(kind)})"


def _count(binding: Binding) -> str:
    return next((binding.value(name) for name in ("count", "incount") if binding.function.has(name)), "1")


def _integer(binding: Binding, name: str) -> str:
    return f"fortran_integer({name})" if isinstance(binding, Fortran) else f"*{name}"


def _probe(binding: Binding, call: str) -> list[str]:
    function = binding.function
    place = ", ".join(binding.value(name) for name in ("comm", "source", "tag"))
    withheld = f"inject_withholds_probe(thread, {place})"
    matched = []
    if function.has("message"):
        done = binding.succeeded + (f" && {_integer(binding, 'flag')}" if function.has("flag") else "")
        matched = [f"if (injector.active && {done}) inject_matched(thread, {binding.value('comm')});"]
    if not function.has("flag"):
        return [f"while ({withheld}) continue;", call, *matched]
    return _unless(binding, withheld, [call, *matched])


def _unless(binding: Binding, withheld: str, lines: list[str]) -> list[str]:
    """Returns statements that report that nothing is complete if a condition holds, else the given ones."""
    language = "Fortran" if isinstance(binding, Fortran) else "C"
    nothing = [f"  {line}" for line in NOTHING_COMPLETE[language]]
    return [f"if ({withheld}) {{", *nothing, "} else {", *[f"  {line}" for line in lines], "}"]


def _complete(binding: Binding, call: str, status: str) -> list[str]:
    function = binding.function
    count = _count(binding)
    if function.has("index") or function.has("outcount"):
        return [*_of_many(binding, call, count), *_completed(binding, count, status)]
    if function.has("flag"):
        return [*_unless(binding, f"!inject_ready(thread, {count})", [call]), *_completed(binding, count, status)]
    return [f"inject_watch(thread, {count});", call, *_completed(binding, count, status)]


def _of_many(binding: Binding, call: str, count: str) -> list[str]:
    """Returns the call of MPI_Waitany, MPI_Waitsome, MPI_Testany or MPI_Testsome without the withheld requests."""
    function = binding.function
    result = "outcount" if function.has("outcount") else "index"
    arguments = f"thread, array_of_requests, {count}, {'true' if isinstance(binding, Fortran) else 'false'}"
    undefined = f"{binding.succeeded} && {_integer(binding, result)} == MPI_UNDEFINED"
    if function.has("flag") or function.name == "MPI_Testsome":
        target, kind = ("flag" if function.has("flag") else "outcount"), "int"
        if isinstance(binding, Fortran):
            kind = "MPI_Fint"
        return [
            f"inject_hide({arguments}, false);",
            call,
            f"inject_show({arguments});",
            f"if (thread->hidden && {undefined}) *({kind}*){target} = 0;",
        ]
    return [
        "bool called;",
        "do {",
        f"  called = inject_hide({arguments}, true);",
        "  if (called) {",
        f"    {call}",
        "  }",
        f"  inject_show({arguments});",
        f"}} while (!called || (thread->hidden && {undefined}));",
    ]


def _completed(binding: Binding, count: str, status: str) -> list[str]:
    """Returns the statements that wait until the delays of the completed receives are over."""
    function = binding.function
    indices, number = "NULL", count
    if function.has("outcount"):
        indices, number = "array_of_indices", f"{_integer(binding, 'outcount')}"
    elif function.has("index"):
        indices, number = "index", f"{_integer(binding, 'index')} == MPI_UNDEFINED ? 0 : 1"
    if function.has("flag"):
        number = f"!{_integer(binding, 'flag')} ? 0 : {number}"
    first = "0"
    if isinstance(binding, Fortran) and indices != "NULL":
        first = f"fortran_first_index(thread, array_of_requests, {count}, {indices}, arrived)"
    return [
        "if (injector.active) {",
        f"  int arrived = {binding.succeeded} ? {number} : 0;",
        "  if (arrived < 0) arrived = 0;",
        "  struct completion injection = {",
        f"      .count = {count},",
        "      .completed = arrived,",
        f"      .indices = {indices},",
        f"      .first_index = {first},",
        f"      .statuses = {status}}};",
        f"  inject_completed(thread, &injection, {binding.succeeded});",
        "}",
    ]
