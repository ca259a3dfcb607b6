// SPDX-License-Identifier: Apache-2.0
//
// Interposes the functions that close a socket or end the process, and none that is called for each
// message. Every function keeps its effect, its result and errno. Safe in threads and signal
// handlers: fixed tables and atomics, no allocation, no lock (except in output.c, where a flush
// takes the stream's lock anyway).
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/next_symbol.h"
#include "witness.h"

#ifndef SYS_close_range
#define SYS_close_range 436  // the same on every architecture
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

struct witness_process witness_process = {.rank = -1, .world_size = -1};

// The next definitions in the search order. They are null before the constructor has run; the bare
// system call is used then.
static struct {
  int (*close)(int);
  int (*shutdown)(int, int);
  int (*dup2)(int, int);
  int (*dup3)(int, int, int);
  int (*close_range)(unsigned, unsigned, int);
  void (*closefrom)(int);
  void (*exit_now)(int);
  void (*exit_now_c)(int);
} next;

// ---- sampling

static bool identify(int fd, uint64_t* inode, unsigned* mode) {
  struct statx wide;
  struct stat plain;
  // Without synchronisation: a close must not cost a round trip to a file server.
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &wide) == 0) {
    *inode = wide.stx_ino;
    *mode = wide.stx_mode;
    return true;
  }
  if (errno == EBADF || fstat(fd, &plain) != 0) return false;
  *inode = plain.st_ino;
  *mode = plain.st_mode;
  return true;
}

void witness_sample(int fd, enum sample_reason reason) {
  if (!witness_process.active || fd < 0) return;
  int saved = errno;
  uint64_t inode;
  unsigned mode;
  // In a vfork child the memory is the parent's, and the parent still has the socket.
  if (identify(fd, &inode, &mode) && (S_ISSOCK(mode) || S_ISCHR(mode)) &&
      witness_process.pid == (int)getpid()) {
    if (S_ISSOCK(mode))
      sockets_sample(fd, inode, reason);
    else
      traces_device(fd);
  }
  errno = saved;
}

static bool parse_number(const char* text, int64_t* number) {
  *number = 0;
  if (!text || !*text || strlen(text) > 9) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    *number = *number * 10 + (*text - '0');
  }
  return true;
}

struct kernel_dirent {  // linux_dirent64 of getdents64(2), which no header declares
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

void witness_sample_range(unsigned first, unsigned last, enum sample_reason reason) {
  if (!witness_process.active) return;
  int saved = errno;
  int directory =
      (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {  // no descriptor left, or no /proc
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    for (unsigned fd = first; fd <= last && fd < limit.rlim_cur && fd < 65536; fd++)
      witness_sample((int)fd, reason);
    errno = saved;
    return;
  }
  _Alignas(struct kernel_dirent) char entries[2048];
  long n;
  while ((n = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0) {
    for (long at = 0; at < n;) {
      const struct kernel_dirent* entry = (const void*)(entries + at);
      int64_t fd;
      at += entry->length;
      if (parse_number(entry->name, &fd) && fd >= first && fd <= last && fd != directory)
        witness_sample((int)fd, reason);
    }
  }
  syscall(SYS_close, directory);
  errno = saved;
}

// ---- start and end of the process

static void read_rank(void) {
  static const char* const names[][2] = {
      {"FABRICBENCH_RANK", "FABRICBENCH_RANKS"},
      {"PMI_RANK", "PMI_SIZE"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMIX_RANK", NULL},
      {"SLURM_PROCID", "SLURM_NTASKS"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    int64_t number;
    if (!parse_number(getenv(names[i][0]), &number)) continue;
    witness_process.rank = number;
    if (names[i][1] && parse_number(getenv(names[i][1]), &number))
      witness_process.world_size = number;
    return;
  }
}

// Keeps the directory's absolute name, because the program may change its working directory. An
// open descriptor would change the numbers of the program's own.
static bool read_directory(void) {
  const char* name = getenv("FABRICBENCH_WITNESS_DIR");
  if (!name || !*name) return false;
  struct sink out = sink_in(witness_process.directory, sizeof witness_process.directory);
  if (*name != '/') {
    if (!getcwd(witness_process.directory, sizeof witness_process.directory)) return false;
    out.used = strlen(witness_process.directory);
    sink_char(&out, '/');
  }
  sink_string(&out, name);
  return !out.error;
}

static void in_fork_child(void) {
  witness_process.forked = true;
  witness_process.pid = (int)getpid();
  sockets_forget();
  marks_forget();
  traces_forget();
  cpus_remember();
  witness_report_forget();
}

static void at_quick_end(void) {
  witness_report("_exit");
}

__attribute__((constructor)) static void begin(void) {
  int saved = errno;
  find_next(&next.close, "close");
  find_next(&next.shutdown, "shutdown");
  find_next(&next.dup2, "dup2");
  find_next(&next.dup3, "dup3");
  find_next(&next.close_range, "close_range");
  find_next(&next.closefrom, "closefrom");
  find_next(&next.exit_now, "_exit");
  find_next(&next.exit_now_c, "_Exit");
  if (read_directory()) {
    read_rank();
    witness_process.pid = (int)getpid();
    cpus_remember();
    pthread_atfork(NULL, NULL, in_fork_child);
    at_quick_exit(at_quick_end);  // registered first, so it runs last
    witness_process.plain = getenv("FABRICBENCH_WITNESS_PLAIN") != NULL;
    witness_process.active = true;
  }
  errno = saved;
}

__attribute__((destructor)) static void end(void) {
  witness_report("exit");
}

// ---- marks

EXPORT void fabricbench_mark(bool begins, const char* label) {
  if (!witness_process.active || witness_process.pid != (int)getpid()) return;
  int saved = errno;
  marks_set(begins, label);
  errno = saved;
}

// ---- interposed functions

EXPORT int close(int fd) {
  witness_sample(fd, SAMPLE_CLOSE);
  return next.close ? next.close(fd) : (int)syscall(SYS_close, fd);
}

EXPORT int shutdown(int fd, int how) {
  witness_sample(fd, SAMPLE_SHUTDOWN);
  return next.shutdown ? next.shutdown(fd, how) : (int)syscall(SYS_shutdown, fd, how);
}

EXPORT int dup2(int old, int new) {
  if (old != new) witness_sample(new, SAMPLE_CLOSE);
  if (next.dup2) return next.dup2(old, new);
  return old == new ? (fcntl(old, F_GETFD) < 0 ? -1 : new) : (int)syscall(SYS_dup3, old, new, 0);
}

EXPORT int dup3(int old, int new, int flags) {
  if (old != new) witness_sample(new, SAMPLE_CLOSE);
  return next.dup3 ? next.dup3(old, new, flags) : (int)syscall(SYS_dup3, old, new, flags);
}

EXPORT int close_range(unsigned first, unsigned last, int flags) {
  if (!((unsigned)flags & CLOSE_RANGE_CLOEXEC)) witness_sample_range(first, last, SAMPLE_CLOSE);
  return next.close_range ? next.close_range(first, last, flags)
                          : (int)syscall(SYS_close_range, first, last, flags);
}

EXPORT void closefrom(int first) {
  unsigned from = first > 0 ? (unsigned)first : 0;
  witness_sample_range(from, ~0U, SAMPLE_CLOSE);
  if (next.closefrom)
    next.closefrom(first);
  else
    syscall(SYS_close_range, from, ~0U, 0);
}

EXPORT _Noreturn void _exit(int status) {
  witness_report("_exit");
  if (next.exit_now) next.exit_now(status);
  for (;;) syscall(SYS_exit_group, status);
}

EXPORT _Noreturn void _Exit(int status) {
  witness_report("_exit");
  if (next.exit_now_c) next.exit_now_c(status);
  for (;;) syscall(SYS_exit_group, status);
}
