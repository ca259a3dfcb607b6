// SPDX-License-Identifier: Apache-2.0
//
// Gathers the profiles of a node's ranks and writes them.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "profiler/profiler.h"

static bool write_all(int fd, const char* bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    length -= (size_t)written;
  }
  return true;
}

struct output {
  char name[PATH_MAX + 512], other[PATH_MAX + 512], temporary[PATH_MAX + 512];
  int fd;
  bool ok;
};

// The file is `stem` and `suffix`. The second program of a host that ends in the same directory,
// such as one that MPI_Comm_spawn started, writes `stem`.PID and `suffix`.
static void output_begin(struct output* output, const char* stem, const char* suffix) {
  const char* directory = profile.directory;
  long pid = (long)getpid();
  snprintf(output->name, sizeof output->name, "%s/%s%s", directory, stem, suffix);
  snprintf(output->other, sizeof output->other, "%s/%s.%ld%s", directory, stem, pid, suffix);
  snprintf(output->temporary, sizeof output->temporary, "%s/.%s.%ld.%llu.tmp", directory, stem, pid,
           (unsigned long long)clock_nanoseconds());
  output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  output->ok = output->fd >= 0;
}

static void output_add(struct output* output, const char* bytes, size_t length) {
  if (output->ok) output->ok = write_all(output->fd, bytes, length);
}

// Gives the file its name. A file system without hard links renames it.
static bool publish(const struct output* output) {
  if (link(output->temporary, output->name) == 0) return true;
  if (errno == EEXIST) return link(output->temporary, output->other) == 0;
  return rename(output->temporary, output->name) == 0;
}

static void output_end(struct output* output) {
  if (output->fd >= 0 && close(output->fd) != 0) output->ok = false;
  if (!output->ok || !publish(output)) {
    char message[PATH_MAX + 1024];
    snprintf(message, sizeof message, "%s: cannot write the profile: %s", output->name,
             strerror(errno));
    complain_as("fabricbench-profiler", message);
  }
  if (output->fd >= 0) unlink(output->temporary);
}

// Calls `each` with the threads in the order of their numbers.
static void each_thread(void (*each)(const struct thread*, void*), void* context) {
  int count = 0;
  for (const struct thread* thread = profile.threads; thread; thread = thread->next) count++;
  for (int number = 0; number < count; number++)
    for (const struct thread* thread = profile.threads; thread; thread = thread->next)
      if (thread->number == number) each(thread, context);
}

struct texts {
  struct text text;
  double scale;
};

static void add_packed(const struct thread* thread, void* context) {
  struct texts* texts = context;
  text_add(&texts->text, "# profile.%d.0.%d\n", profile.rank, thread->number);
  text_of_thread(&texts->text, thread, texts->scale);
}

static void write_tau_file(const struct thread* thread, void* context) {
  struct texts* texts = context;
  struct text text = {0};
  struct output output;
  char name[64];
  snprintf(name, sizeof name, "profile.%d.0.%d", profile.rank, thread->number);
  text_of_thread(&text, thread, texts->scale);
  output_begin(&output, name, "");
  output_add(&output, text.bytes, text.used);
  output_end(&output);
  free(text.bytes);
}

static void host_name(char* name, size_t size) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  snprintf(name, size, "profile.%s", profile.host);
  for (char* at = name; *at; at++)
    if (!strchr(allowed, *at)) *at = '_';
}

// The lowest rank of the node writes its own text and then that of each other rank.
static void write_node(const struct text* text) {
  int length = text->used > INT_MAX ? 0 : (int)text->used, self, number = profile.node_ranks;
  PMPI_Comm_rank(profile.node, &self);
  if (self != 0) {
    PMPI_Send(&length, 1, MPI_INT, 0, 0, profile.node);
    PMPI_Send(text->bytes, length, MPI_CHAR, 0, 1, profile.node);
    return;
  }
  struct output output;
  char name[320];
  host_name(name, sizeof name);
  output_begin(&output, name, ".txt");
  output_add(&output, text->bytes, (size_t)length);
  for (int rank = 1; rank < number; rank++) {
    PMPI_Recv(&length, 1, MPI_INT, rank, 0, profile.node, MPI_STATUS_IGNORE);
    char* bytes = malloc((size_t)length + 1);
    if (!bytes) abort();
    PMPI_Recv(bytes, length, MPI_CHAR, rank, 1, profile.node, MPI_STATUS_IGNORE);
    output_add(&output, bytes, (size_t)length);
    free(bytes);
  }
  output_end(&output);
}

void write_profiles(void) {
  struct texts texts = {.scale = clock_microseconds()};
  if (profile.tau_files) {
    each_thread(write_tau_file, &texts);
    return;
  }
  each_thread(add_packed, &texts);
  write_node(&texts.text);
  free(texts.text.bytes);
}
