// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/prefix.h"
#include "witness.h"

enum { DEVICE_LIMIT = 32 };
enum { DEVICE_FREE, DEVICE_CLAIMED, DEVICE_READY };

static struct {
  atomic_int state;
  char path[NAME_LENGTH];
} devices[DEVICE_LIMIT];

static bool begins_with_any(const char* string, const char* const* prefixes) {
  for (; *prefixes; prefixes++)
    if (begins(string, *prefixes)) return true;
  return false;
}

static bool ends(const char* string, const char* suffix) {
  size_t n = strlen(string), m = strlen(suffix);
  return n >= m && strcmp(string + n - m, suffix) == 0;
}

static bool is_transport_device(const char* path) {
  static const char* const prefixes[] = {
      "/dev/infiniband/", "/dev/mx",  "/dev/myri", "/dev/open-mx", "/dev/hfi1",
      "/dev/ipath",       "/dev/cxi", "/dev/knem", "/dev/xpmem",   NULL};
  return begins_with_any(path, prefixes);
}

// Open MPI's components are named mca_btl_tcp.so, libfabric's providers libtcp-fi.so.
static bool is_transport_library(const char* name) {
  static const char* const prefixes[] = {"libuct",     "libucp",    "libucs",   "libfabric",
                                         "libibverbs", "librdmacm", "libmlx",   "mca_btl_",
                                         "mca_pml_",   "mca_mtl_",  "libpsm",   "libmyriexpress",
                                         "libopen-mx", "libmpi",    "libmpich", NULL};
  return !begins(name, "libfabricbench") &&
         (begins_with_any(name, prefixes) || ends(name, "-fi.so"));
}

static void add_name(struct name_list* list, const char* name) {
  size_t at = 0;
  int order = 1;
  while (at < list->count && (order = strncmp(list->names[at], name, NAME_LENGTH - 1)) < 0) at++;
  if ((at < list->count && order == 0) || list->count == NAME_LIMIT) return;
  memmove(list->names[at + 1], list->names[at], (list->count - at) * NAME_LENGTH);
  list->count++;
  struct sink out = sink_in(list->names[at], NAME_LENGTH);
  sink_string(&out, name);
}

void traces_device(int fd) {
  char link[32], path[NAME_LENGTH];
  struct sink out = sink_in(link, sizeof link);
  sink_string(&out, "/proc/self/fd/");
  sink_number(&out, (uint64_t)fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = '\0';
  if (!is_transport_device(path)) return;
  for (size_t i = 0; i < DEVICE_LIMIT; i++) {
    int state = DEVICE_FREE;
    if (atomic_compare_exchange_strong(&devices[i].state, &state, DEVICE_CLAIMED)) {
      memcpy(devices[i].path, path, (size_t)length + 1);
      atomic_store(&devices[i].state, DEVICE_READY);
      return;
    }
    if (state == DEVICE_READY && strcmp(devices[i].path, path) == 0) return;
  }
}

void traces_devices(struct name_list* list) {
  list->count = 0;
  for (size_t i = 0; i < DEVICE_LIMIT; i++)
    if (atomic_load(&devices[i].state) == DEVICE_READY) add_name(list, devices[i].path);
}

void traces_forget(void) {
  memset(devices, 0, sizeof devices);
}

// Reads a hexadecimal number and moves *text past it and one separator.
static uint64_t hexadecimal(const char** text) {
  static const char digits[] = "0123456789abcdef";
  uint64_t value = 0;
  const char* digit;
  while (**text && (digit = strchr(digits, **text)))
    value = value * 16 + (uint64_t)(digit - digits), ++*text;
  if (**text) ++*text;
  return value;
}

// "7f0c1000-7f0c2000 rw-s 00000000 00:19 42    /dev/shm/name (deleted)"
static void map_line(char* line, struct name_list* libraries, struct shared_maps* maps) {
  const char* rest = line;
  uint64_t first = hexadecimal(&rest), last = hexadecimal(&rest);
  char* path = strpbrk(line, "/[");
  if (!path || *path != '/' || strnlen(rest, 4) < 4) return;
  size_t length = strlen(path);
  if (ends(path, " (deleted)")) path[length - strlen(" (deleted)")] = '\0';
  if (rest[3] == 's' &&
      (begins(path, "/dev/shm/") || begins(path, "/memfd:") || begins(path, "/SYSV"))) {
    maps->count++;
    maps->bytes += last - first;
  }
  const char* name = strrchr(path, '/') + 1;
  if (is_transport_library(name)) add_name(libraries, name);
}

// Only the thread that reports calls this.
void traces_maps(struct name_list* libraries, struct shared_maps* maps) {
  static char buffer[16384];
  size_t kept = 0;
  long n;
  libraries->count = 0;
  *maps = (struct shared_maps){0};
  int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  while ((n = syscall(SYS_read, fd, buffer + kept, sizeof buffer - 1 - kept)) > 0) {
    kept += (size_t)n;
    buffer[kept] = '\0';
    char *line = buffer, *end;
    while ((end = strchr(line, '\n'))) {
      *end = '\0';
      map_line(line, libraries, maps);
      line = end + 1;
    }
    kept = (size_t)(buffer + kept - line);
    if (kept == sizeof buffer - 1)  // a line longer than any path
      kept = 0;
    memmove(buffer, line, kept);
  }
  syscall(SYS_close, fd);
}
