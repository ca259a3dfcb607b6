// SPDX-License-Identifier: Apache-2.0
//
// The facts about this node and its load. A fact that cannot be read is null.
#include "facts.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const double unknown = (double)NAN;
static const char processors[] = "/sys/devices/system/cpu";

const char* host_name(void) {
  static struct utsname machine;
  return uname(&machine) == 0 && machine.nodename[0] ? machine.nodename : "unknown";
}

void host_file_name(char* name, size_t size, const char* before, const char* after) {
  snprintf(name, size, "%s%.200s%s", before, host_name(), after);
  for (char* slash; (slash = strchr(name, '/'));) *slash = '_';
}

struct mitigation_list {
  struct json* out;
  const char* folder;
  bool begun;
};

static void mitigation(const char* name, void* context) {
  struct mitigation_list* list = context;
  char text[256];
  read_in(list->folder, name, text, sizeof text);
  text[strcspn(text, ";")] = '\0';
  if (!list->begun) json_begin_object(list->out, "mitigations");
  list->begun = true;
  json_string(list->out, name, text);
}

// {"spectre_v2":"Mitigation: Retpolines", ...}: of each text the part before the first ';'.
static void mitigations(struct json* out) {
  struct mitigation_list list = {.out = out, .folder = "/sys/devices/system/cpu/vulnerabilities"};
  each_entry(list.folder, mitigation, &list);
  if (list.begun) json_end_object(out);
}

// All time but idle and I/O wait. Stolen time counts: it is the load of other virtual machines.
static double busy_cpu_seconds(void) {
  char line[512];
  unsigned long long t[8] = {0};  // user nice system idle iowait irq softirq steal
  read_line("/proc/stat", line, sizeof line);
  if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4],
             &t[5], &t[6], &t[7]) < 4)
    return unknown;
  return (double)(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) / (double)sysconf(_SC_CLK_TCK);
}

struct observation observe(void) {
  struct observation observed = {
      .busy_cpu_s = busy_cpu_seconds(), .load_1min = unknown, .running = -1, .ports = read_ports()};
  char line[128];
  read_line("/proc/loadavg", line, sizeof line);
  if (sscanf(line, "%lf %*s %*s %ld/", &observed.load_1min, &observed.running) != 2)
    observed.load_1min = unknown, observed.running = -1;
  observed.time_s = monotonic_s();
  return observed;
}

// "always [madvise] never": the word in brackets.
static void chosen_word(const char* path, char* text, size_t size) {
  char line[256];
  read_line(path, line, sizeof line);
  const char* open = strchr(line, '[');
  snprintf(text, size, "%.*s", open ? (int)strcspn(open + 1, "]") : 0, open ? open + 1 : "");
}

// Whether the processor may exceed its nominal frequency.
static void boost(struct json* out) {
  double allowed = read_number(processors, "cpufreq/boost");
  if (!isfinite(allowed)) allowed = 1 - read_number(processors, "intel_pstate/no_turbo");
  if (isfinite(allowed))
    json_bool(out, "boost", allowed > 0);
  else
    json_null(out, "boost");
}

static void processor_facts(struct json* out, long cores) {
  char text[512];
  read_key("/proc/cpuinfo", "model name", text, sizeof text);
  json_string_or_null(out, "cpu_model", text);
  json_unsigned(out, "cores", (uint64_t)cores);
  instructions(out);
  topology(out);
  read_in(processors, "cpu0/cpufreq/scaling_governor", text, sizeof text);
  json_string_or_null(out, "governor", text);
  read_in(processors, "cpu0/cpufreq/scaling_driver", text, sizeof text);
  json_string_or_null(out, "frequency_driver", text);
  boost(out);
  read_in(processors, "smt/control", text, sizeof text);
  json_string_or_null(out, "smt", text);
  mitigations(out);
}

static void node_facts(struct json* out, long cores) {
  struct utsname machine;
  char text[4096];
  json_unsigned(out, "schema", 1);
  json_string(out, "host", host_name());
  read_line("/proc/sys/kernel/random/boot_id", text, sizeof text);
  json_string_or_null(out, "boot_id", text);
  json_string_or_null(out, "kernel", uname(&machine) == 0 ? machine.release : "");
  read_line("/proc/cmdline", text, sizeof text);
  json_string_or_null(out, "kernel_command_line", text);
  processor_facts(out, cores);
  read_key("/proc/meminfo", "MemTotal", text, sizeof text);
  json_unsigned(out, "memory_bytes", strtoull(text, NULL, 10) * 1024);
  chosen_word("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
  json_string_or_null(out, "transparent_hugepages", text);
  read_key("/proc/meminfo", "HugePages_Total", text, sizeof text);
  number_or_null(out, "hugepages", *text ? strtod(text, NULL) : unknown);
  // Slurm's topology plugin: the switches from the top to this node, "core.leaf3.n17".
  const char* address = getenv("SLURM_TOPOLOGY_ADDR");
  json_string_or_null(out, "topology_address", address ? address : "");
}

bool write_host(const struct directory* directory, const struct observation* before,
                const struct observation* after, double own_cpu_s, const struct more_fields* more) {
  char name[NAME_MAX + 1];
  struct atomic_file file;
  host_file_name(name, sizeof name, "host.", "");
  atomic_begin(&file, directory, name);
  struct json* out = &file.json;
  json_begin_object(out, NULL);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  node_facts(out, cores);
  nics(out, &before->ports);
  double busy = after ? after->busy_cpu_s - before->busy_cpu_s : unknown;
  double elapsed = after ? after->time_s - before->time_s : unknown;
  number_or_null(out, "load_before", before->load_1min);
  number_or_null(out, "load_after", after ? after->load_1min : unknown);
  number_or_null(out, "running_before", before->running >= 0 ? (double)before->running : unknown);
  number_or_null(out, "seconds", elapsed);
  number_or_null(out, "busy_cpu_seconds", busy);
  number_or_null(out, "own_cpu_seconds", after ? own_cpu_s : unknown);
  // NAN is not smaller than any number, so an unknown time gives an unknown share.
  double foreign = busy < own_cpu_s ? 0 : (busy - own_cpu_s) / ((double)cores * elapsed);
  number_or_null(out, "foreign_cpu_share", foreign);
  counters(out, &before->ports, after ? &after->ports : NULL);
  if (more) more->write(out, more->context);
  json_end_object(out);
  sink_char(&out->sink, '\n');
  return atomic_commit(&file);
}
