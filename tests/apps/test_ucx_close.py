# SPDX-License-Identifier: Apache-2.0
"""Tests the effect of ``apps/patches/ucx_close.c`` on a program, with a stub for UCX."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

APPS = Path(__file__).resolve().parents[2] / "apps"
PATCH = APPS / "patches/ucx_close.c"

UCX = """
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

int progress_calls[2];
int answer = -1;  // gets a byte in the third call for the second worker
static int depth;

int ucp_worker_create(void* context, const void* parameters, void** worker) {
  static int created;
  if (context || parameters) return -1;
  *worker = &progress_calls[created++];
  return 0;
}
void ucp_worker_destroy(void* worker) { *(int*)worker = -1; }
void* ucp_disconnect_nb(void* endpoint) { return endpoint; }
unsigned ucp_worker_progress(void* worker) {
  if (depth++) abort();  // UCX's progress must not enter itself
  struct itimerspec soon = {.it_value.tv_nsec = 5000000};
  unsigned long expired;
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  timerfd_settime(timer, 0, &soon, NULL);
  if (read(timer, &expired, sizeof expired) != sizeof expired) abort();
  close(timer);
  depth--;
  if (++*(int*)worker == 3 && worker == &progress_calls[1] && write(answer, "x", 1) != 1) abort();
  return 0;
}
"""
"""Counts calls for progress. Each contains a read() that blocks for 5 ms."""

PROGRAM = """
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

extern int progress_calls[2], answer;
int ucp_worker_create(void*, const void*, void**);
void ucp_worker_destroy(void*);
void* ucp_disconnect_nb(void*);

static void show(const char* what, long returned) {
  printf("%s %ld %d %d\\n", what, returned, progress_calls[0], progress_calls[1]);
}

int main(void) {
  void *one, *two;
  int wire[2];
  char byte;
  if (pipe(wire) || ucp_worker_create(NULL, NULL, &one) || ucp_worker_create(NULL, NULL, &two)) return 1;
  answer = wire[1];
  if (write(wire[1], "x", 1) != 1) return 1;
  show("before", read(wire[0], &byte, 1));
  show("endpoint", ucp_disconnect_nb(&byte) == &byte);
  if (write(wire[1], "x", 1) != 1) return 1;
  show("ready", read(wire[0], &byte, 1));
  fcntl(wire[0], F_SETFL, O_NONBLOCK);
  show("nonblocking", read(wire[0], &byte, 1) == -1 && errno == EAGAIN);
  fcntl(wire[0], F_SETFL, 0);
  show("blocking", read(wire[0], &byte, 1));
  show("invalid", read(-1, &byte, 1) == -1 && errno == EBADF);
  ucp_worker_destroy(one);
  ucp_worker_destroy(two);
  close(wire[1]);
  show("after", read(wire[0], &byte, 1));
  return 0;
}
"""

EXPECTED = """\
before 1 0 0
endpoint 1 0 0
ready 1 0 0
nonblocking 1 0 0
blocking 1 3 3
invalid 1 3 3
after 0 -1 -1
"""


def compiled(folder: Path, name: str, source: str, *options: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    command = [
        "cc",
        "-D_GNU_SOURCE",
        "-std=c11",
        "-O2",
        "-fPIC",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{APPS}",
        "-o",
        str(folder / name),
    ]
    subprocess.run([*command, str(folder / f"{name}.c"), *options], check=True, timeout=120)
    return folder / name


def test_a_read_that_blocks_after_the_first_close_makes_progress(tmp_path: Path) -> None:
    """All other reads are unchanged: earlier, later and non-blocking ones, reads with available data, and UCX's own."""
    if not shutil.which("cc"):
        pytest.skip("needs a C compiler")
    patch = compiled(tmp_path, "patch.so", PATCH.read_text(), "-shared", "-fvisibility=hidden", "-ldl")
    ucx = compiled(tmp_path, "ucx.so", UCX, "-shared")
    program = compiled(tmp_path, "program", PROGRAM, str(ucx))
    process = subprocess.run(
        [program], env={**os.environ, "LD_PRELOAD": str(patch)}, capture_output=True, text=True, timeout=60, check=False
    )
    assert (process.returncode, process.stderr, process.stdout) == (0, "", EXPECTED)


def test_a_program_without_ucx_is_unaffected(tmp_path: Path) -> None:
    if not shutil.which("cc"):
        pytest.skip("needs a C compiler")
    patch = compiled(tmp_path, "patch.so", PATCH.read_text(), "-shared", "-fvisibility=hidden", "-ldl")
    environment = {**os.environ, "LD_PRELOAD": str(patch)}
    process = subprocess.run(
        ["cat"], input="text", env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (process.returncode, process.stdout, process.stderr) == (0, "text", "")
