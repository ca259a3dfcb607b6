// SPDX-License-Identifier: Apache-2.0
#include "sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/prefix.h"

static void* append(struct sums* sums, struct list* list, const void* item, size_t size) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    void* items = realloc(list->items, capacity * size);
    if (!items) {
      sums->failed = true;
      return NULL;
    }
    list->items = items;
    list->capacity = capacity;
  }
  return memcpy((char*)list->items + size * list->count++, item, size);
}

// Adds to the entry `name`, from the entry `*at` on, because all ranks have the names in one order.
static void add_named(struct sums* sums, struct list* list, size_t* at, const char* name,
                      const uint64_t values[4]) {
  struct named* items = list->items;
  for (size_t i = 0; i < list->count; i++) {
    struct named* one = &items[(*at + i) % list->count];
    if (strcmp(one->name, name) != 0) continue;
    *at = (*at + i + 1) % list->count;
    one->count++;
    for (size_t k = 0; k < 4; k++) one->values[k] += values[k];
    return;
  }
  struct named fresh = {.name = strdup(name), .count = 1};
  memcpy(fresh.values, values, sizeof fresh.values);
  if (!fresh.name || !append(sums, list, &fresh, sizeof fresh)) {
    sums->failed = true;
    free(fresh.name);
  }
  *at = 0;
}

struct reader {
  struct sums* sums;
  bool counts;       // a process that is a rank, not a child of one
  bool prints;       // rank 0
  size_t places[3];  // in marks, devices, libraries
};

// "process RANK FORKED CPU_MICROSECONDS CPUS"
static void read_process(struct reader* reader, const char* words) {
  struct process one = {0};
  unsigned forked = 0;
  int at = 0;
  bool has_rank = *words != '-';
  const char* rest = has_rank ? words : words + 1;
  if (has_rank) {
    char* end;
    one.rank = strtoull(words, &end, 10);
    rest = end;
  }
  if (sscanf(rest, " %u %" SCNu64 " %n", &forked, &one.cpu_us, &at) < 2) return;
  reader->counts = has_rank && !forked;
  reader->prints = reader->counts && one.rank == 0;
  reader->sums->reports++;
  reader->sums->cpu_us += one.cpu_us;
  if (!reader->counts) return;
  one.cpus = strdup(rest + at);
  if (!one.cpus || !append(reader->sums, &reader->sums->processes, &one, sizeof one)) {
    reader->sums->failed = true;
    free(one.cpus);
  }
}

static void read_socket(struct sums* sums, const char* words) {
  struct end one = {.connections = 1, .ends = 1};
  if (sscanf(words, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %63s %63s",
             &one.inode, &one.tx_bytes, &one.rx_bytes, &one.tx_segs, &one.rx_segs, one.local,
             one.peer) == 7)
    append(sums, &sums->sockets, &one, sizeof one);
}

// "SAME_BYTES SAME_SEGMENTS OTHER_BYTES OTHER_SEGMENTS LABEL"
static const char* read_interval(const char* words, uint64_t values[4]) {
  int at = 0;
  return sscanf(words, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &values[0], &values[1],
                &values[2], &values[3], &at) == 4 &&
                 words[at] == ' '
             ? words + at + 1
             : NULL;
}

static void read_mark(struct reader* reader, const char* words) {
  uint64_t values[4];
  const char* label = reader->counts ? read_interval(words, values) : NULL;
  if (label) add_named(reader->sums, &reader->sums->marks, &reader->places[0], label, values);
}

static void read_printed(struct reader* reader, const char* words) {
  struct named line = {.count = 1};
  const char* label = reader->prints ? read_interval(words, line.values) : NULL;
  if (!label) return;
  line.name = strdup(label);
  if (!line.name || !append(reader->sums, &reader->sums->lines, &line, sizeof line)) {
    reader->sums->failed = true;
    free(line.name);
  }
}

static void read_line_of(struct reader* reader, const char* line) {
  struct sums* sums = reader->sums;
  const char* words = strchr(line, ' ');
  if (!words) return;
  words++;
  static const uint64_t none[4];
  uint64_t* const counts[] = {&sums->dropped_sockets, &sums->udp_sockets, &sums->unix_sockets,
                              &sums->shared_maps};
  static const char* const names[] = {"dropped_sockets ", "udp_sockets ", "unix_sockets ",
                                      "shared_maps "};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (begins(line, names[i])) *counts[i] += strtoull(words, NULL, 10);
  if (begins(line, "dropped_marks ") && reader->counts)
    sums->dropped_marks += strtoull(words, NULL, 10);
  if (begins(line, "process ")) read_process(reader, words);
  if (begins(line, "socket ")) read_socket(sums, words);
  if (begins(line, "mark ")) read_mark(reader, words);
  if (begins(line, "line ")) read_printed(reader, words);
  if (begins(line, "device ")) add_named(sums, &sums->devices, &reader->places[1], words, none);
  if (begins(line, "library ")) add_named(sums, &sums->libraries, &reader->places[2], words, none);
}

void sums_add(struct sums* sums, FILE* report) {
  struct reader reader = {.sums = sums};
  char* line = NULL;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, report)) > 0;) {
    if (line[length - 1] == '\n') line[length - 1] = '\0';
    read_line_of(&reader, line);
  }
  free(line);
}

static void free_named(struct list* list) {
  struct named* items = list->items;
  for (size_t i = 0; i < list->count; i++) free(items[i].name);
  free(items);
}

void sums_free(struct sums* sums) {
  struct process* processes = sums->processes.items;
  for (size_t i = 0; i < sums->processes.count; i++) free(processes[i].cpus);
  free(processes);
  free(sums->sockets.items);
  free_named(&sums->marks);
  free_named(&sums->lines);
  free_named(&sums->devices);
  free_named(&sums->libraries);
  *sums = (struct sums){0};
}
