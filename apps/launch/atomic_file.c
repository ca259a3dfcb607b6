// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"

void atomic_begin(struct atomic_file* file, const struct directory* directory, const char* name) {
  file->directory = directory;
  snprintf(file->name, sizeof file->name, "%s", name);
  snprintf(file->temporary, sizeof file->temporary, ".%.200s.%ld.tmp", name, (long)getpid());
  unlinkat(directory->fd, file->temporary, 0);
  int fd = openat(directory->fd, file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  file->json = (struct json){.sink = sink_to(fd, file->buffer, sizeof file->buffer)};
  if (fd < 0) file->json.sink.error = errno;
}

static int failed_call(int result) {
  return result == 0 ? 0 : errno;
}

static int sync_file(int fd) {
  int error = failed_call(fsync(fd));
  return error == EINVAL || error == ENOSYS ? 0 : error;  // not every file system can
}

bool atomic_commit(struct atomic_file* file) {
  const struct directory* directory = file->directory;
  struct sink* sink = &file->json.sink;
  bool opened = sink->fd >= 0;
  sink_flush(sink);
  int error = sink->error;
  if (!error) error = sync_file(sink->fd);
  if (opened && close(sink->fd) != 0 && !error) error = errno;
  if (!error)
    error = failed_call(renameat(directory->fd, file->temporary, directory->fd, file->name));
  if (!error) {
    fsync(directory->fd);  // the name, too, where the file system can
    return true;
  }
  if (opened) unlinkat(directory->fd, file->temporary, 0);
  complain("cannot write %s/%s: %s; %s", directory->path, file->name, strerror(error),
           error == ENOSPC || error == EDQUOT ? "free some space and launch again"
                                              : "check the directory and launch again");
  errno = error;
  return false;
}

void atomic_discard(struct atomic_file* file) {
  if (file->json.sink.fd < 0) return;
  close(file->json.sink.fd);
  unlinkat(file->directory->fd, file->temporary, 0);
}
