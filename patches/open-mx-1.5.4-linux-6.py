#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes the driver in a source tree of Open-MX 1.5.4 so that it builds on Linux 5.15 to 6.1; 6.1 was tried.

    python3 open-mx-1.5.4-linux-6.py TREE

Without this script, the driver of 1.5.4 builds on Linux 4.10 or older, and that of 1.5.4.90, the last state of the
repository, on 4.11 or older. No later release exists.

The script replaces identifiers that the kernel renamed, and adds one header. It contains nothing of Open-MX's source.
The driver is licensed under GPL-2.0, and so is a changed tree.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

HEADER = "omx_linux_6.h"
HEADER_TEXT = """\
/* SPDX-License-Identifier: GPL-2.0 */
/* What Open-MX's driver uses of older kernels, in terms of Linux 5.15 to 6.1. Each file of the driver includes it. */
#ifndef OMX_LINUX_6_H
#define OMX_LINUX_6_H

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>

/* Since 4.15 the function of a timer receives the timer, and no longer a number. */
struct omx_timer {
	struct timer_list timer;
	void (*function)(unsigned long);
	unsigned long data;
};

static inline void omx_timer_expired(struct timer_list *timer)
{
	struct omx_timer *expired = from_timer(expired, timer, timer);

	expired->function(expired->data);
}

static inline void omx_timer_setup(struct omx_timer *timer, void (*function)(unsigned long), unsigned long data)
{
	timer->function = function;
	timer->data = data;
	timer_setup(&timer->timer, omx_timer_expired, 0);
}

#ifndef del_singleshot_timer_sync
#define del_singleshot_timer_sync(timer) del_timer_sync(timer)
#endif

/* Since 5.15 get_coalesce has four parameters. */
static inline int omx_get_coalesce(struct net_device *device, struct ethtool_coalesce *coalesce)
{
	struct kernel_ethtool_coalesce more = { };

	return device->ethtool_ops->get_coalesce(device, coalesce, &more, NULL);
}

#endif
"""


class Edit(NamedTuple):
    """Replaces each match of a pattern in some files of the driver; ``times`` is the number of matches."""

    reason: str
    files: str
    pattern: str
    replacement: str
    times: int


EDITS = (
    Edit("timers: since 4.15", "check_kernel_headers.sh", r"\bsetup_timer\b", "timer_setup", 3),
    Edit("timers: a type with the function's number", "omx_*.c", r"\bstruct timer_list\b", "struct omx_timer", 4),
    Edit("timers: set up", "omx_*.c", r"\bsetup_timer\(", "omx_timer_setup(", 4),
    Edit(
        "timers: start and stop",
        "omx_*.c",
        r"\b((?:omx_)?mod_timer(?:_pending)?|del_timer(?:_sync)?|del_singleshot_timer_sync)\((&[\w>-]+)",
        r"\1(\2.timer",
        19,
    ),
    Edit(
        "parameters: const since 4.15",
        "omx_*.[ch]",
        r"(?<!const )\bstruct kernel_param\b",
        "const struct kernel_param",
        6,
    ),
    # get_user_pages_fast takes the lock itself if it needs it. A second reader waits for a writer between the two.
    Edit("memory: no lock around the pinning", "omx_reg.c", r"\b(down|up)_read\(&current->mm->mmap_sem\);", ";", 3),
    Edit(
        "memory: the interface of notifiers changed in 4.13 and 5.0",
        "omx_*.[ch]",
        r"^#ifdef CONFIG_MMU_NOTIFIER$",
        "#if 0",
        7,
    ),
    Edit("interfaces: get_coalesce", "omx_iface.c", r"\bifp->ethtool_ops->get_coalesce\(", "omx_get_coalesce(", 1),
    Edit("headers: not included directly", "omx_*.c", r"<asm/uaccess\.h>", "<linux/uaccess.h>", 2),
    Edit(
        "headers: the one added",
        "Kbuild.in",
        r"^(.*-include )(\S*)omx_debug\.h$",
        rf"\g<0>\n\1@abs_srcdir@/{HEADER}",
        1,
    ),
)


def apply(edit: Edit, folder: Path) -> dict[Path, str]:
    """Returns the changed texts of files; raises ValueError if the matches are not as many as ``times``."""
    texts, times = {}, 0
    for file in sorted(folder.glob(edit.files)):
        text, count = re.subn(edit.pattern, edit.replacement, file.read_text("latin-1"), flags=re.MULTILINE)
        times += count
        if count:
            texts[file] = text
    if times != edit.times:
        raise ValueError(f"{edit.files}: {edit.reason}: {times} places, expected {edit.times}; is it Open-MX 1.5.4?")
    return texts


def main(arguments: list[str]) -> int:
    """Changes the tree; returns the exit status, 2 for a tree that is not one of Open-MX 1.5.4."""
    if len(arguments) != 1:
        print("expected one argument, the source tree of Open-MX 1.5.4", file=sys.stderr)
        return 2
    folder = Path(arguments[0]) / "driver" / "linux"
    if not (folder / "omx_main.c").is_file():
        print(f"{folder}/omx_main.c: no such file; expected a source tree of Open-MX 1.5.4", file=sys.stderr)
        return 2
    if (folder / HEADER).exists():
        print(f"{folder} is changed already")
        return 0
    originals = {file: file.read_text("latin-1") for file in folder.iterdir() if file.is_file()}
    try:
        for edit in EDITS:
            for file, text in apply(edit, folder).items():
                file.write_text(text, "latin-1")
    except ValueError as error:
        for file, text in originals.items():
            file.write_text(text, "latin-1")
        print(error, file=sys.stderr)
        return 2
    (folder / HEADER).write_text(HEADER_TEXT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
