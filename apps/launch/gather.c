// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/prefix.h"
#include "node.h"

static const struct timespec pause_between = {.tv_nsec = 2000000};
static const time_t old_s = 7 * 24 * 3600;
static const char member[] = "member.", report[] = "witness.";

static uint64_t hash(uint64_t seed, const char* text) {  // FNV-1a
  for (; *text; text++) seed = (seed ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
  return seed;
}

static bool ours(const char* path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 0077) == 0;
}

// Also removes hidden files, which remain from interrupted reports.
static void remove_folder(const char* path) {
  DIR* folder = opendir(path);
  if (!folder) return;
  int fd = dirfd(folder);
  for (const struct dirent* entry; fd >= 0 && (entry = readdir(folder));)
    unlinkat(fd, entry->d_name, 0);
  closedir(folder);
  rmdir(path);
}

// Removes the directory of an old launch whose ranks and fabricbench-node were all killed at once.
// No launch lasts longer than old_s.
static void remove_if_old(const char* name, void* context) {
  const char* base = context;
  char prefix[64], path[PATH_MAX];
  struct stat info;
  snprintf(prefix, sizeof prefix, "fabricbench.%ld.", (long)geteuid());
  if (!begins(name, prefix)) return;
  snprintf(path, sizeof path, "%s/%s", base, name);
  if (ours(path) && stat(path, &info) == 0 && time(NULL) - info.st_mtime > old_s)
    remove_folder(path);
}

struct gathering gathering_open(const char* base, const char* launch_directory) {
  struct gathering gathering = {.path = ""};
  char real[PATH_MAX];
  if (!realpath(launch_directory, real)) return gathering;
  // Virtual nodes of one machine may share the base, so the host's name is part of the hash.
  uint64_t name = hash(hash(UINT64_C(0xCBF29CE484222325), real), host_name());
  int length = snprintf(gathering.path, sizeof gathering.path, "%s/fabricbench.%ld.%016llx", base,
                        (long)geteuid(), (unsigned long long)name);
  bool fits = length > 0 && (size_t)length < sizeof gathering.path;
  if (!fits || (mkdir(gathering.path, 0700) != 0 && errno != EEXIST) || !ours(gathering.path))
    gathering.path[0] = '\0';
  return gathering;
}

void gathering_join(const struct gathering* gathering) {
  char path[PATH_MAX + 32];
  if (!*gathering->path) return;
  snprintf(path, sizeof path, "%s/%s%ld", gathering->path, member, (long)getpid());
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) close(fd);
}

// A zombie has written its report; its parent may reap it later than this process ends.
static void count_running(const char* name, void* context) {
  unsigned* running = context;
  char path[64], line[512];
  if (!begins(name, member)) return;
  snprintf(path, sizeof path, "/proc/%ld/stat", strtol(name + strlen(member), NULL, 10));
  read_line(path, line, sizeof line);
  const char* after_name = strrchr(line, ')');  // the name may hold blanks and brackets
  if (after_name && strspn(after_name, ") ") == 2 && !strchr("ZX", after_name[2])) ++*running;
}

static void wait_for_members(const char* folder) {
  sigset_t ending;
  sigemptyset(&ending);
  static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigaddset(&ending, numbers[i]);
  unsigned running;
  do {
    running = 0;
    each_entry(folder, count_running, &running);
  } while (running > 0 && sigtimedwait(&ending, NULL, &pause_between) < 0);
}

struct collection {
  const char* folder;
  struct sums* sums;
};

static void add_report(const char* name, void* context) {
  const struct collection* collection = context;
  char path[PATH_MAX + NAME_MAX + 2];
  if (!begins(name, report)) return;
  snprintf(path, sizeof path, "%s/%s", collection->folder, name);
  FILE* file = fopen(path, "re");
  if (!file) return;
  sums_add(collection->sums, file);
  fclose(file);
}

struct sums gathering_close(const struct gathering* gathering, bool wait) {
  struct sums sums = {0};
  if (!*gathering->path) return sums;
  if (wait) wait_for_members(gathering->path);
  struct collection collection = {.folder = gathering->path, .sums = &sums};
  each_entry(gathering->path, add_report, &collection);
  remove_folder(gathering->path);
  char base[PATH_MAX];
  snprintf(base, sizeof base, "%s", gathering->path);
  each_entry(dirname(base), remove_if_old, base);
  return sums;
}
