// SPDX-License-Identifier: Apache-2.0
//
// What is known about this node and its load. A fact that the system does not tell is null. Own CPU
// time is that of this process's descendants: ranks that a daemon of the resource manager starts
// (srun) are not among them and count as foreign.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "launch.h"

static const double unknown = (double)NAN;

void read_line(const char* path, char* text, size_t size) {
  text[0] = '\0';
  FILE* file = fopen(path, "re");
  if (!file) return;
  if (!fgets(text, (int)size, file)) text[0] = '\0';
  fclose(file);
  text[strcspn(text, "\n")] = '\0';
}

const char* host_name(void) {
  static struct utsname machine;
  return uname(&machine) == 0 && machine.nodename[0] ? machine.nodename : "unknown";
}

// The text behind "key :" in a file of such lines, "" when there is none.
static void read_key(const char* path, const char* key, char* text, size_t size) {
  char line[1024];
  text[0] = '\0';
  FILE* file = fopen(path, "re");
  if (!file) return;
  while (fgets(line, sizeof line, file)) {
    char* colon = strchr(line, ':');
    if (strncmp(line, key, strlen(key)) != 0 || !colon) continue;
    char* value = colon + 1 + strspn(colon + 1, " \t");
    value[strcspn(value, "\n")] = '\0';
    snprintf(text, size, "%s", value);
    break;
  }
  fclose(file);
}

static void string_or_null(FILE* out, const char* name, const char* text) {
  fprintf(out, ",\"%s\":", name);
  if (*text)
    json_string(out, text);
  else
    fputs("null", out);
}

// Different physical packages of the processors that are online; 0 when unknown.
static int count_sockets(void) {
  enum { LIMIT = 1024 };
  bool seen[LIMIT] = {false};
  int count = 0;
  DIR* directory = opendir("/sys/devices/system/cpu");
  if (!directory) return 0;
  for (const struct dirent* entry; (entry = readdir(directory));) {
    char path[PATH_MAX], text[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/%s/topology/physical_package_id",
             entry->d_name);
    read_line(path, text, sizeof text);
    long package = *text ? strtol(text, NULL, 10) : -1;
    if (package < 0 || package >= LIMIT || seen[package]) continue;
    seen[package] = true;
    count++;
  }
  closedir(directory);
  return count;
}

static int by_name(const struct dirent** a, const struct dirent** b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent* entry) {
  return entry->d_name[0] != '.';
}

// {"spectre_v2":"Mitigation: Retpolines", ...}: of each text the part before the first ';'.
static void mitigations(FILE* out) {
  static const char folder[] = "/sys/devices/system/cpu/vulnerabilities";
  struct dirent** entries;
  int count = scandir(folder, &entries, not_hidden, by_name);
  if (count < 0) return;
  fputs(",\"mitigations\":{", out);
  for (int i = 0; i < count; i++) {
    char path[PATH_MAX], text[256];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    read_line(path, text, sizeof text);
    text[strcspn(text, ";")] = '\0';
    fputs(i ? "," : "", out);
    json_string(out, entries[i]->d_name);
    fputc(':', out);
    json_string(out, text);
    free(entries[i]);
  }
  free(entries);
  fputc('}', out);
}

// Everything but idle and waiting for I/O; stolen time is somebody else's load as well.
static double busy_cpu_seconds(void) {
  char line[512];
  unsigned long long t[8] = {0};  // user nice system idle iowait irq softirq steal
  read_line("/proc/stat", line, sizeof line);
  if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4],
             &t[5], &t[6], &t[7]) < 4)
    return unknown;
  return (double)(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) / (double)sysconf(_SC_CLK_TCK);
}

struct load read_load(void) {
  struct load load = {.busy_cpu_s = busy_cpu_seconds(), .load_1min = unknown, .running = -1};
  char line[128];
  read_line("/proc/loadavg", line, sizeof line);
  if (sscanf(line, "%lf %*s %*s %ld/", &load.load_1min, &load.running) != 2)
    load.load_1min = unknown, load.running = -1;
  load.time_s = monotonic_s();
  return load;
}

static void number_or_null(FILE* out, const char* name, double value) {
  fprintf(out, ",\"%s\":", name);
  if (isfinite(value))
    fprintf(out, "%.6g", value);
  else
    fputs("null", out);
}

static void node_facts(FILE* out, long cores) {
  struct utsname machine;
  char text[512];
  fputs("{\"schema\":1,\"host\":", out);
  json_string(out, host_name());
  string_or_null(out, "kernel", uname(&machine) == 0 ? machine.release : "");
  read_key("/proc/cpuinfo", "model name", text, sizeof text);
  string_or_null(out, "cpu_model", text);
  fprintf(out, ",\"cores\":%ld", cores);
  int sockets = count_sockets();
  number_or_null(out, "sockets", sockets > 0 ? (double)sockets : unknown);
  read_key("/proc/meminfo", "MemTotal", text, sizeof text);
  fprintf(out, ",\"memory_bytes\":%llu", strtoull(text, NULL, 10) * 1024);
  read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text);
  string_or_null(out, "governor", text);
  read_line("/sys/devices/system/cpu/smt/control", text, sizeof text);
  string_or_null(out, "smt", text);
  mitigations(out);
}

bool write_host(const struct directory* directory, const struct load* before,
                const struct load* after, double own_cpu_s) {
  char* text = NULL;
  size_t size;
  FILE* out = open_memstream(&text, &size);
  if (!out) {
    complain("out of memory");
    return false;
  }
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  node_facts(out, cores);
  double busy = after ? after->busy_cpu_s - before->busy_cpu_s : unknown;
  double elapsed = after ? after->time_s - before->time_s : unknown;
  number_or_null(out, "load_before", before->load_1min);
  number_or_null(out, "load_after", after ? after->load_1min : unknown);
  number_or_null(out, "running_before", before->running >= 0 ? (double)before->running : unknown);
  number_or_null(out, "busy_cpu_seconds", busy);
  number_or_null(out, "own_cpu_seconds", after ? own_cpu_s : unknown);
  // An unknown busy time makes it unknown: it is not smaller than anything.
  double foreign = busy < own_cpu_s ? 0 : (busy - own_cpu_s) / ((double)cores * elapsed);
  number_or_null(out, "foreign_cpu_share", foreign);
  fputs("}\n", out);
  bool complete = fclose(out) == 0;
  char name[NAME_MAX + 1];
  snprintf(name, sizeof name, "host.%.200s", host_name());
  for (char* slash; (slash = strchr(name, '/'));) *slash = '_';
  bool written = complete && write_atomically(directory, name, text);
  free(text);
  return written;
}
