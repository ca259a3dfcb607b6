// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "sums.h"

static int compare(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

// By rank, the process with the most CPU time first.
static int by_rank(const void* a, const void* b) {
  const struct process *one = a, *other = b;
  int order = compare(one->rank, other->rank);
  return order ? order : compare(other->cpu_us, one->cpu_us);
}

static int by_cpus(const void* a, const void* b) {
  const struct process *one = a, *other = b;
  int order = strcmp(one->cpus, other->cpus);
  return order ? order : compare(one->rank, other->rank);
}

// Keeps the process with the most CPU time of each rank, and orders the ranks by their processors.
static void merge_ranks(struct list* processes) {
  struct process* items = processes->items;
  size_t kept = 0;
  if (processes->count) qsort(items, processes->count, sizeof *items, by_rank);
  for (size_t i = 0; i < processes->count; i++) {
    if (i > 0 && items[i].rank == items[kept - 1].rank)
      free(items[i].cpus);
    else
      items[kept++] = items[i];
  }
  processes->count = kept;
  if (kept) qsort(items, kept, sizeof *items, by_cpus);
}

// Writes "0-3,8": the ranks of `count` processes, which are in order.
static void write_numbers(struct json* out, const struct process* items, size_t count) {
  struct sink* sink = &out->sink;
  json_key(out, "ranks");
  sink_char(sink, '"');
  for (size_t i = 0; i < count; i++) {
    size_t last = i;
    while (last + 1 < count && items[last + 1].rank == items[last].rank + 1) last++;
    if (i > 0) sink_char(sink, ',');
    sink_number(sink, items[i].rank);
    if (last > i) {
      sink_char(sink, '-');
      sink_number(sink, items[last].rank);
    }
    i = last;
  }
  sink_char(sink, '"');
}

// "ranks":[{"cpus":"0-63","ranks":"0-63","count":64}]
static void write_ranks(struct json* out, struct list* processes) {
  merge_ranks(processes);
  const struct process* items = processes->items;
  json_begin_array(out, "ranks");
  for (size_t i = 0; i < processes->count;) {
    size_t next = i;
    while (next < processes->count && strcmp(items[next].cpus, items[i].cpus) == 0) next++;
    json_begin_object(out, NULL);
    json_string_or_null(out, "cpus", strcmp(items[i].cpus, "-") == 0 ? "" : items[i].cpus);
    write_numbers(out, items + i, next - i);
    json_unsigned(out, "count", next - i);
    json_end_object(out);
    i = next;
  }
  json_end_array(out);
}

static void write_sockets(struct json* out, const struct list* sockets) {
  const struct end* items = sockets->items;
  json_begin_array(out, "sockets");
  for (size_t i = 0; i < sockets->count; i++) {
    json_begin_array(out, NULL);
    json_string(out, NULL, items[i].local);
    json_string(out, NULL, strcmp(items[i].peer, "-") == 0 ? "?" : items[i].peer);
    json_unsigned(out, NULL, items[i].ends);
    json_unsigned(out, NULL, items[i].connections);
    json_unsigned(out, NULL, items[i].tx_bytes);
    json_unsigned(out, NULL, items[i].rx_bytes);
    json_unsigned(out, NULL, items[i].tx_segs);
    json_unsigned(out, NULL, items[i].rx_segs);
    json_end_array(out);
  }
  json_end_array(out);
}

static void write_carried(struct json* out, const char* key, const uint64_t* values) {
  json_begin_object(out, key);
  json_unsigned(out, "bytes", values[0]);
  json_unsigned(out, "segments", values[1]);
  json_end_object(out);
}

static void write_intervals(struct json* out, const char* key, const struct list* list) {
  const struct named* items = list->items;
  json_begin_array(out, key);
  for (size_t i = 0; i < list->count; i++) {
    json_begin_object(out, NULL);
    json_string(out, "label", items[i].name);
    json_unsigned(out, "ranks", items[i].count);
    write_carried(out, "same_node", items[i].values);
    write_carried(out, "other_node", items[i].values + 2);
    json_end_object(out);
  }
  json_end_array(out);
}

static void write_names(struct json* out, const char* key, const struct list* list) {
  const struct named* items = list->items;
  json_begin_array(out, key);
  for (size_t i = 0; i < list->count; i++) json_string(out, NULL, items[i].name);
  json_end_array(out);
}

void sums_write(struct json* out, struct sums* sums) {
  merge_sockets(&sums->sockets);
  json_begin_object(out, "witness");
  json_unsigned(out, "reports", sums->reports);
  json_unsigned(out, "main_processes", sums->processes.count);
  write_ranks(out, &sums->processes);
  json_unsigned(out, "cpu_microseconds", sums->cpu_us);
  write_sockets(out, &sums->sockets);
  write_intervals(out, "intervals", &sums->marks);
  write_intervals(out, "lines", &sums->lines);
  json_unsigned(out, "dropped_sockets", sums->dropped_sockets);
  json_unsigned(out, "dropped_marks", sums->dropped_marks);
  json_unsigned(out, "udp_sockets", sums->udp_sockets);
  json_unsigned(out, "unix_sockets", sums->unix_sockets);
  write_names(out, "devices", &sums->devices);
  write_names(out, "libraries", &sums->libraries);
  json_unsigned(out, "shared_maps", sums->shared_maps);
  json_end_object(out);
}
