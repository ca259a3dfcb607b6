# SPDX-License-Identifier: Apache-2.0
"""The bodies of the wrappers: what a wrapper of each class of function counts, in C and in Fortran."""

from injection import injected
from reading import Binding, Fortran, Function, group, peer, size

# Functions with character arguments, and how many hidden lengths their Fortran entry points have.
CHARACTERS = {
    "MPI_Comm_spawn": 2, "MPI_Comm_spawn_multiple": 2, "MPI_Comm_accept": 1, "MPI_Comm_connect": 1,
    "MPI_File_open": 1, "MPI_File_set_view": 1,
}  # fmt: skip


def facts(binding: Binding) -> list[str]:
    """Declares `facts`, what the call moves."""
    function = binding.function
    known = group(binding)
    lines = [*known, "struct facts facts = {.operation = FUNCTION_NONE};"]
    if known:
        lines.append("facts.comm_size = members ? (uint32_t)members->size : 0;")
    lines.append(f"facts.peer = {peer(binding)};")
    if function.has("root") and function.kind_of_call in ("collective", "icollective"):
        lines.append(f"facts.root = is_root(members, {binding.value('root')});")
    if function.size:
        lines += ["facts.sized = true;", f"facts.bytes = {size(binding)};"]
        if any(function.has(name) for name in ("dest", "source")):
            lines.append("if (facts.peer == PEER_NULL) facts.bytes = 0;")
    return lines


def arrival(binding: Binding, status: str) -> list[str]:
    """Corrects `facts` of a blocking receive by its status."""
    where = "members" if group(binding) else "NULL"
    return [f"read_arrival(&facts, {where}, {status});"]


def received(binding: Binding, status: str) -> list[str]:
    """Counts what MPI_Sendrecv received."""
    count, kind = ("recvcount", "recvtype") if binding.function.has("recvcount") else ("count", "datatype")
    posted = f"positive({binding.value(count)}) * type_bytes(thread, {binding.value(kind)})"
    return [
        "struct facts arrived = facts;",
        f"arrived.peer = peers_class(members, {binding.value('source')});",
        f"arrived.bytes = {posted};",
        f"read_arrival(&arrived, members, {status});",
        "if (arrived.peer != PEER_NULL) event_add(&thread->table.received, arrived.bytes, 1);",
    ]


# What the operations of collectives wait for; others have no time stamps.
COLLECTIVES = {
    "STAMP_ALL": ("Barrier", "Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw",
                  "Reduce_scatter", "Reduce_scatter_block"),
    "STAMP_FROM_ROOT": ("Bcast", "Scatter", "Scatterv"),
    "STAMP_TO_ROOT": ("Reduce", "Gather", "Gatherv"),
}  # fmt: skip


def targets(binding: Binding) -> list[str]:
    """Declares `target`, what the operation is matched by, and for MPI_Sendrecv `sent` too."""
    function = binding.function

    def message(name: str, kind: str, peer: str, tag: str) -> str:
        values = f"{binding.value(peer)}, {binding.value(tag)}"
        return f"struct target {name} = message_target(members, {kind}, {values});"

    if function.kind_of_call == "sendrecv":
        tags = ("sendtag", "recvtag")
        return [message("sent", "STAMP_SEND", "dest", tags[0]), message("target", "STAMP_RECEIVE", "source", tags[1])]
    if group(binding) and function.has("tag") and function.has("dest"):
        return [message("target", "STAMP_SEND", "dest", "tag")]
    if group(binding) and function.has("tag") and function.has("source"):
        return [message("target", "STAMP_RECEIVE", "source", "tag")]
    if function.kind_of_call in ("collective", "icollective"):
        short = function.name.removeprefix("MPI_").removeprefix("I").capitalize()
        kind = next((kind for kind, names in COLLECTIVES.items() if short in names), "")
        root = binding.value("root") if function.has("root") else "0"
        if kind:
            return [f"struct target target = collective_target(members, {kind}, {root});"]
    return ["struct target target = no_target;"]


def stamps(binding: Binding, status: str) -> list[str]:
    """The statements that record the time stamps of a call whose row is `row`."""
    function = binding.function
    if function.kind_of_call not in ("send", "recv", "sendrecv", "collective") or function.has("request"):
        return []
    lines = targets(binding)
    if lines == ["struct target target = no_target;"]:
        return []
    lines.append("struct span span = {begin, ticks};")
    if function.kind_of_call in ("recv", "sendrecv"):
        lines.append(f"if ({binding.succeeded}) target_arrived(&target, {status});")
    if function.kind_of_call == "sendrecv":
        return [*lines, "stamp_both(thread, &sent, &target, row, &span);"]
    return [*lines, "stamp_call(thread, &target, row, &span);"]


def matched_probe(binding: Binding, status: str) -> list[str]:
    """MPI_Mprobe takes a message out of the order of receives: its stamp has no row."""
    function = binding.function
    if function.kind_of_call != "probe" or not function.has("message"):
        return []
    integer = "fortran_integer(flag)" if isinstance(binding, Fortran) else "*flag"
    arrived = f"{binding.succeeded} && {integer}" if function.has("flag") else binding.succeeded
    return [
        f"if ({arrived}) {{",
        *[f"  {line}" for line in targets(binding)],
        f"  target_arrived(&target, {status});",
        "  stamps_begin(thread, &target, begin);",
        "}",
    ]


def new_comm(binding: Binding) -> list[str]:
    """Gives a communicator that the call created its number."""
    function = binding.function
    if function.kind_of_call != "comm":
        return []
    name = next(one.name for one in reversed(function.arguments) if one.type.replace(" ", "") == "MPI_Comm*")
    return [f"if ({binding.succeeded}) peers_new_comm(thread, {binding.handle(name)});"]


def remember(binding: Binding) -> list[str]:
    function = binding.function
    receives = "true" if function.kind == "KIND_RECEIVE" else "false"
    persistent = "true" if function.kind_of_call == "persistent" else "false"
    request = f"{binding.handle('request')}, {function.id}, facts, &target, begin, {receives}, {persistent}"
    return [f"if ({binding.succeeded}) {{", *[f"  {line}" for line in targets(binding)],
            f"  remember(thread, {request});", "}"]  # fmt: skip


def counted(binding: Binding, status: str) -> list[str]:
    """The statements after the call of functions that are neither waits nor the life of MPI."""
    function = binding.function
    lines = facts(binding)
    if function.kind_of_call == "recv":
        lines += arrival(binding, status)
    if function.kind_of_call == "sendrecv":
        lines += received(binding, status)
    recorded = stamps(binding, status)
    row = "uint32_t row = " if recorded else ""
    lines += [f"{row}count_call(thread, {function.id}, &facts, ticks);", *recorded]
    lines += [*matched_probe(binding, status), *new_comm(binding)]
    if function.has("request") and function.kind_of_call not in ("release", "complete", "activate"):
        lines += remember(binding)
    return lines


def completion(binding: Binding, statuses: str) -> list[str]:
    """The statements after MPI_Wait* and MPI_Test*."""
    function = binding.function
    count = next((binding.value(name) for name in ("count", "incount") if function.has(name)), "1")
    some, any_, flag = function.has("outcount"), function.has("index"), function.has("flag")
    number, indices = "-1", "NULL"
    is_fortran = isinstance(binding, Fortran)
    integer = (lambda name: f"fortran_integer({name})") if is_fortran else (lambda name: f"*{name}")
    if some:
        number, indices = f"{integer('outcount')} > 0 ? {integer('outcount')} : 0", "array_of_indices"
    elif any_:
        number, indices = f"{integer('index')} == MPI_UNDEFINED ? 0 : 1", "index"
    if flag:
        done = number if number != "-1" else count
        number = f"!{integer('flag')} ? 0 : {done}"
    lines = [f"int completed = {binding.succeeded} ? {number} : 0;"]
    if number == "-1":
        lines = [f"int completed = {binding.succeeded} ? {count} : 0;"]
    first = "0"
    if is_fortran and indices != "NULL":
        first = f"fortran_first_index(thread, array_of_requests, {count}, {indices}, completed)"
    return [
        *lines,
        "struct completion completion = {",
        f"    .function = {function.id},",
        f"    .count = {count},",
        "    .completed = completed,",
        f"    .indices = {indices},",
        f"    .first_index = {first},",
        f"    .statuses = {statuses},",
        "    .begin = begin,",
        "    .ticks = ticks};",
        "complete_book(thread, &completion);",
    ]


def before(binding: Binding) -> list[str]:
    """The statements before the call: handles that the call changes, and the optional barrier."""
    function = binding.function
    if function.kind_of_call in ("complete", "activate"):
        return handles(binding)
    if function.kind_of_call == "release":
        return [f"requests_free(handle_of({binding.handle('request')}));"]
    if function.kind_of_call == "cancel":
        return [f"requests_cancel(handle_of({binding.handle('request')}));"]
    if function.kind_of_call == "collective" and function.name != "MPI_Barrier":
        return [f"if (profile.sync) synchronize(thread, {function.id}, {binding.value('comm')});"]
    return []


def first(binding: Binding) -> list[str]:
    """The statements of calls that are not counted, too: a callback inside MPI may free a handle."""
    function = binding.function
    if function.kind_of_call != "free":
        return []
    return [f"peers_forget((uint64_t)({binding.handle(function.arguments[0].name)}));"]


def handles(binding: Binding) -> list[str]:
    function = binding.function
    count = next((binding.value(name) for name in ("count", "incount") if function.has(name)), "1")
    requests = "request" if function.has("request") else "array_of_requests"
    lines = [f"uint64_t* handles = complete_handles(thread, {count});"]
    if isinstance(binding, Fortran):
        return [*lines, f"fortran_handles(handles, {requests}, {count});"]
    if function.has("request"):
        return [*lines, "handles[0] = handle_of(*request);"]
    return [*lines, f"for (int i = 0; i < {count}; i++) handles[i] = handle_of({requests}[i]);"]


def after(binding: Binding, status: str) -> list[str]:
    function = binding.function
    if function.kind_of_call == "complete":
        return completion(binding, status)
    if function.kind_of_call == "activate":
        count = binding.value("count") if function.has("count") else "1"
        return [f"activate_book(thread, {function.id}, {count}, begin, ticks);"]
    if function.kind_of_call in ("release", "cancel", "free"):
        count = f"count_call(thread, {function.id}, &facts, ticks);"
        return ["struct facts facts = {.operation = FUNCTION_NONE};", count]
    return counted(binding, status)


def block(lines: list[str]) -> str:
    return "".join(f"  {line}\n" for line in lines)


def own_status(function: Function) -> list[str]:
    """In C a status of the profiler's own replaces MPI_STATUS_IGNORE."""
    if function.kind_of_call not in ("recv", "sendrecv", "complete", "probe"):
        return []
    if function.has("status"):
        return ["MPI_Status own;", "if (status == MPI_STATUS_IGNORE) status = &own;"]
    count = "incount" if function.has("incount") else "count"
    name = "array_of_statuses"
    return [f"if ({name} == MPI_STATUSES_IGNORE) {name} = complete_statuses(thread, {count});"]


def c_wrapper(function: Function) -> str:
    declarations = ", ".join(argument.declaration for argument in function.arguments) or "void"
    names = ", ".join(argument.name for argument in function.arguments)
    call = f"P{function.name}({names})"
    head = f"EXPORT int {function.name}({declarations}) {{\n"
    if function.kind_of_call == "start":
        return head + block(start_lines(f"int result = {call};", function.id)) + "  return result;\n}\n"
    if function.kind_of_call == "end":
        return head + block(end_lines(function.id)) + f"  return {call};\n}}\n"
    if function.kind_of_call == "region":
        head = f"EXPORT int {function.name}({declarations}, ...) {{\n"
        lines = ["#ifdef FABRICBENCH_PROFILER_SMPI", "  return MPI_SUCCESS;  // SimGrid's ends the program", "#else"]
        text = "".join(f"{line}\n" for line in lines)
        return head + block([f"profile_region({names});"]) + text + f"  return {call};\n#endif\n}}\n"
    binding = Binding(function)
    status = "status" if function.has("status") else "array_of_statuses"
    lines = [
        *first(binding),
        "struct thread* thread = profile_enter();",
        f"if (!thread) return {call};",
        *own_status(function),
        *before(binding),
        "uint64_t begin = clock_ticks();",
        *injected(binding, f"result = {call};", status),
        "uint64_t ticks = clock_ticks() - begin;",
        *after(binding, status),
        "profile_leave(thread);",
        "return result;",
    ]
    return head + block(lines) + "}\n"


def start_lines(call: str, name: str) -> list[str]:
    return [
        "bool outermost = profile_starting(1);",
        "uint64_t ticks = clock_ticks();",
        call,
        "ticks = clock_ticks() - ticks;",
        f"if (outermost) profile_start({name}, ticks);",
        "profile_starting(-1);",
    ]


def end_lines(name: str) -> list[str]:
    return [f"profile_finish({name});"]


def fortran_statuses(function: Function) -> str:
    """The statuses after a call of a Fortran entry point, or NULL if it has none."""
    if function.kind_of_call not in ("recv", "sendrecv", "complete"):
        return "NULL"
    if function.has("status"):
        return "fortran_statuses(thread, status, 1)"
    count = "outcount" if function.has("outcount") else "count"
    return f"fortran_statuses(thread, array_of_statuses, fortran_integer({count}))"


def fortran_body(function: Function, names: list[str]) -> list[str]:
    call = f"next({', '.join(names)});"
    if function.kind_of_call == "start":
        return [*start_lines(call, function.id)]
    if function.kind_of_call == "end":
        return [*end_lines(function.id), call]
    if function.kind_of_call == "region":
        return ["profile_region(fortran_integer(level));", call]
    binding = Fortran(function)
    return [
        *first(binding),
        "struct thread* thread = profile_enter();",
        "if (!thread) {",
        f"  {call}",
        "  return;",
        "}",
        *before(binding),
        "uint64_t begin = clock_ticks();",
        *injected(binding, call, fortran_statuses(function)),
        "uint64_t ticks = clock_ticks() - begin;",
        *after(binding, fortran_statuses(function)),
        "profile_leave(thread);",
    ]


def fortran_wrappers(function: Function) -> str:
    """One body, and an entry point for each name: mpif.h and the module mpi, and mpi_f08 of both kinds."""
    arguments = [argument.name for argument in function.arguments]
    if function.kind_of_call == "start":
        arguments = [name for name in arguments if name not in ("argc", "argv")]
    if function.kind_of_call != "region":
        arguments.append("ierror")
    lengths = [f"length_{i}" for i in range(CHARACTERS.get(function.name, 0))]
    declared = ", ".join([f"void* {name}" for name in arguments] + [f"size_t {name}" for name in lengths])
    names = [*arguments, *lengths]
    kind = f"next_{function.name}"
    lower = function.name.lower()
    text = f"typedef void (*{kind})({declared});\n"
    text += f"static inline void body_{function.name}({kind} next, enum binding binding, {declared}) {{\n"
    text += "  (void)binding;\n" + block(fortran_body(function, names)) + "}\n"
    for symbol, passing in (
        (f"{lower}_", "BINDING_ADDRESSES"),
        (f"{lower}_f08_", "BINDING_ADDRESSES"),
        (f"{lower}_f08ts_", "BINDING_DESCRIPTORS"),
    ):
        text += f"void {symbol}({declared});\n"
        text += f"EXPORT void {symbol}({declared}) {{\n"
        text += f"  static {kind} next;\n"
        text += f'  if (!next) fortran_next(&next, "{symbol}");\n'
        text += f"  body_{function.name}(next, {passing}, {', '.join(names)});\n}}\n"
    return text
