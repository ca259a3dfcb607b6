// SPDX-License-Identifier: Apache-2.0
//
// The processors of each core, socket and NUMA node, as lists of the kernel ("0-3,8-11").
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"

static const char processors[] = "/sys/devices/system/cpu", memories[] = "/sys/devices/system/node";

struct lists {
  const char* const*
      names;  // of the file in a processor's topology folder: the current name, the old name
  struct json* out;
  size_t count;
};

static bool numbered(const char* name, const char* prefix) {
  size_t length = strlen(prefix);
  return strncmp(name, prefix, length) == 0 && isdigit((unsigned char)name[length]);
}

// Writes the list of a group of processors when `name` is the first of them, so each group once.
static void group_of(const char* name, void* context) {
  struct lists* lists = context;
  char folder[PATH_MAX], text[1024] = "";
  if (!numbered(name, "cpu")) return;
  snprintf(folder, sizeof folder, "%s/%s/topology", processors, name);
  for (const char* const* file = lists->names; *file && !*text; file++)
    read_in(folder, *file, text, sizeof text);
  if (!*text || strtol(text, NULL, 10) != strtol(name + strlen("cpu"), NULL, 10)) return;
  lists->count++;
  json_string(lists->out, NULL, text);
}

static size_t groups(struct json* out, const char* key, const char* const* names) {
  struct lists lists = {.names = names, .out = out};
  json_begin_array(out, key);
  each_entry(processors, group_of, &lists);
  json_end_array(out);
  return lists.count;
}

static void distances_of(const char* name, void* context) {
  struct lists* lists = context;
  char folder[PATH_MAX], text[4096];
  if (!numbered(name, "node")) return;
  snprintf(folder, sizeof folder, "%s/%s", memories, name);
  read_in(folder, "distance", text, sizeof text);
  json_begin_array(lists->out, NULL);
  for (char *rest = text, *word; (word = strsep(&rest, " "));)
    if (*word) json_unsigned(lists->out, NULL, strtoul(word, NULL, 10));
  json_end_array(lists->out);
}

static void processors_of(const char* name, void* context) {
  struct lists* lists = context;
  char folder[PATH_MAX], text[1024];
  if (!numbered(name, "node")) return;
  snprintf(folder, sizeof folder, "%s/%s", memories, name);
  read_in(folder, "cpulist", text, sizeof text);
  lists->count++;
  json_string(lists->out, NULL, text);
}

static void count_or_null(struct json* out, const char* key, size_t count) {
  if (count)
    json_unsigned(out, key, count);
  else
    json_null(out, key);
}

void topology(struct json* out) {
  static const char* const core[] = {"core_cpus_list", "thread_siblings_list", NULL};
  static const char* const socket[] = {"package_cpus_list", "core_siblings_list", NULL};
  struct lists nodes = {.out = out}, far = {.out = out};
  json_begin_object(out, "topology");
  groups(out, "cores", core);
  size_t sockets = groups(out, "sockets", socket);
  json_begin_array(out, "numa");
  each_entry(memories, processors_of, &nodes);
  json_end_array(out);
  json_end_object(out);
  count_or_null(out, "sockets", sockets);
  json_begin_object(out, "numa");
  count_or_null(out, "nodes", nodes.count);
  json_begin_array(out, "distances");
  each_entry(memories, distances_of, &far);
  json_end_array(out);
  json_end_object(out);
}
