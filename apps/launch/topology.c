// SPDX-License-Identifier: Apache-2.0
//
// Which processors are one core, one socket, one NUMA node, as the kernel's lists ("0-3,8-11").
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"

static const char processors[] = "/sys/devices/system/cpu", memories[] = "/sys/devices/system/node";

struct lists {
  const char* const* names;  // of the file in a processor's topology: new name, old name
  FILE* out;
  size_t count;
};

static bool numbered(const char* name, const char* prefix) {
  size_t length = strlen(prefix);
  return strncmp(name, prefix, length) == 0 && isdigit((unsigned char)name[length]);
}

// The list of a group of processors, at the first of them only: so each group comes once.
static void group_of(const char* name, void* context) {
  struct lists* lists = context;
  char folder[PATH_MAX], text[1024] = "";
  if (!numbered(name, "cpu")) return;
  snprintf(folder, sizeof folder, "%s/%s/topology", processors, name);
  for (const char* const* file = lists->names; *file && !*text; file++)
    read_in(folder, *file, text, sizeof text);
  if (!*text || strtol(text, NULL, 10) != strtol(name + strlen("cpu"), NULL, 10)) return;
  fputs(lists->count++ ? "," : "", lists->out);
  json_string(lists->out, text);
}

static size_t groups(FILE* out, const char* const* names) {
  struct lists lists = {.names = names, .out = out};
  fputc('[', out);
  each_entry(processors, group_of, &lists);
  fputc(']', out);
  return lists.count;
}

static void distances_of(const char* name, void* context) {
  struct lists* lists = context;
  char folder[PATH_MAX], text[4096];
  if (!numbered(name, "node")) return;
  snprintf(folder, sizeof folder, "%s/%s", memories, name);
  read_in(folder, "distance", text, sizeof text);
  fputs(lists->count++ ? ",[" : "[", lists->out);
  const char* separator = "";
  for (char *rest = text, *word; (word = strsep(&rest, " "));)
    if (*word) {
      fprintf(lists->out, "%s%ld", separator, strtol(word, NULL, 10));
      separator = ",";
    }
  fputc(']', lists->out);
}

static void processors_of(const char* name, void* context) {
  struct lists* lists = context;
  char folder[PATH_MAX], text[1024];
  if (!numbered(name, "node")) return;
  snprintf(folder, sizeof folder, "%s/%s", memories, name);
  read_in(folder, "cpulist", text, sizeof text);
  fputs(lists->count++ ? "," : "", lists->out);
  json_string(lists->out, text);
}

void topology(FILE* out) {
  static const char* const core[] = {"core_cpus_list", "thread_siblings_list", NULL};
  static const char* const socket[] = {"package_cpus_list", "core_siblings_list", NULL};
  struct lists nodes = {.out = out}, far = {.out = out};
  fputs(",\"topology\":{\"cores\":", out);
  groups(out, core);
  fputs(",\"sockets\":", out);
  size_t sockets = groups(out, socket);
  fputs(",\"numa\":[", out);
  each_entry(memories, processors_of, &nodes);
  fputs("]},\"sockets\":", out);
  if (sockets)
    fprintf(out, "%zu", sockets);
  else
    fputs("null", out);
  fputs(",\"numa\":{\"nodes\":", out);
  if (nodes.count)
    fprintf(out, "%zu", nodes.count);
  else
    fputs("null", out);
  fputs(",\"distances\":[", out);
  each_entry(memories, distances_of, &far);
  fputs("]}", out);
}
