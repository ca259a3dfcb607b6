// SPDX-License-Identifier: Apache-2.0
//
// Finds the descendants of this process in /proc. This process is the reaper of its descendants
// (see prctl PR_SET_CHILD_SUBREAPER), so the chain of parents of each of them leads to it.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

struct process {
  pid_t pid, parent, group;
  char state;
  uint64_t start_ticks;
  bool descendant;
};

struct process_list {
  struct process* items;
  size_t count, capacity;
};

static bool read_process(pid_t pid, struct process* process) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  char* after_name = strrchr(text, ')');  // the name may hold blanks and brackets
  long parent, group;
  unsigned long long start;
  if (!after_name || sscanf(after_name + 1,
                            " %c %ld %ld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                            "%*s %*s %llu",
                            &process->state, &parent, &group, &start) != 4)
    return false;
  process->pid = pid;
  process->parent = (pid_t)parent;
  process->group = (pid_t)group;
  process->start_ticks = start;
  process->descendant = false;
  return true;
}

bool start_time(pid_t pid, uint64_t* ticks) {
  struct process process;
  if (!read_process(pid, &process)) return false;
  *ticks = process.start_ticks;
  return true;
}

static bool append(struct process_list* list, const struct process* process) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 512;
    struct process* items = realloc(list->items, capacity * sizeof *items);
    if (!items) return false;
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = *process;
  return true;
}

static bool read_processes(struct process_list* list) {
  DIR* directory = opendir("/proc");
  if (!directory) return false;
  bool complete = true;
  for (const struct dirent* entry; complete && (entry = readdir(directory));) {
    struct process process;
    if (isdigit((unsigned char)entry->d_name[0]) &&
        read_process((pid_t)strtol(entry->d_name, NULL, 10), &process))
      complete = append(list, &process);
  }
  closedir(directory);
  return complete;
}

static int by_pid(const void* a, const void* b) {
  pid_t left = ((const struct process*)a)->pid, right = ((const struct process*)b)->pid;
  return (left > right) - (left < right);
}

// Passes over the list until nothing changes. The number of passes is the length of the deepest
// chain.
static void mark_descendants(struct process_list* list) {
  pid_t self = getpid();
  if (list->count == 0) return;
  qsort(list->items, list->count, sizeof *list->items, by_pid);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < list->count; i++) {
      struct process* process = &list->items[i];
      if (process->descendant || process->pid == self) continue;
      struct process key = {.pid = process->parent};
      const struct process* parent =
          bsearch(&key, list->items, list->count, sizeof *list->items, by_pid);
      // A "parent" that is younger than its child has reused the parent's number.
      bool real = parent && parent->start_ticks <= process->start_ticks;
      if (process->parent == self || (real && parent->descendant))
        process->descendant = changed = true;
    }
  }
}

// Another process may have the number since the list was read. The descriptor fixes the process
// that has it now; its start time, read afterwards, shows whether it is the listed one.
static void signal_process(const struct process* listed, int signal) {
  int fd = (int)syscall(SYS_pidfd_open, listed->pid, 0);
  bool no_descriptors = fd < 0 && errno != ESRCH;  // Linux before 5.3
  uint64_t ticks;
  if (start_time(listed->pid, &ticks) && ticks == listed->start_ticks) {
    if (fd >= 0)
      syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
    else if (no_descriptors)
      kill(listed->pid, signal);
  }
  if (fd >= 0) close(fd);
}

int signal_descendants(int signal, pid_t except) {
  struct process_list list = {0};
  int alive = -1;
  if (read_processes(&list)) {
    alive = 0;
    mark_descendants(&list);
    for (size_t i = 0; i < list.count; i++) {
      const struct process* process = &list.items[i];
      if (!process->descendant || process->state == 'Z' || process->state == 'X') continue;
      alive++;
      if (except == 0 || process->group != except) signal_process(process, signal);
    }
  }
  free(list.items);
  return alive;
}
