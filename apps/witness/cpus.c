// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "witness.h"

enum { CPU_LIMIT = 8192, WORD_BITS = 8 * sizeof(unsigned long) };

struct cpus {
  bool known;
  unsigned long words[CPU_LIMIT / WORD_BITS];
};

static struct cpus at_start;

// Reads the affinity of the main thread, which launchers and MPI libraries bind.
static void read_cpus(struct cpus* cpus) {
  memset(cpus, 0, sizeof *cpus);
  cpus->known = syscall(SYS_sched_getaffinity, getpid(), sizeof cpus->words, cpus->words) > 0;
}

static bool has(const struct cpus* cpus, unsigned cpu) {
  return cpu < CPU_LIMIT && (cpus->words[cpu / WORD_BITS] >> cpu % WORD_BITS & 1);
}

// Writes 0-3,8, in the kernel's form.
static void sink_cpus(struct sink* out, const struct cpus* cpus) {
  bool first = true;
  for (unsigned cpu = 0; cpu < CPU_LIMIT; cpu++) {
    if (!has(cpus, cpu)) continue;
    unsigned last = cpu;
    while (has(cpus, last + 1)) last++;
    if (!first) sink_char(out, ',');
    sink_number(out, cpu);
    if (last > cpu) {
      sink_char(out, '-');
      sink_number(out, last);
    }
    cpu = last;
    first = false;
  }
}

void cpus_remember(void) {
  read_cpus(&at_start);
}

// Reads the present processors. Returns whether they are known and differ from those at the start.
static bool changed(struct cpus* now) {
  read_cpus(now);
  bool same = at_start.known && memcmp(now->words, at_start.words, sizeof now->words) == 0;
  return now->known && !same;
}

static void cpus_field(struct json* out, const char* key, const struct cpus* cpus) {
  json_key(out, key);
  if (!cpus) {
    sink_string(&out->sink, "null");
    return;
  }
  sink_char(&out->sink, '"');
  sink_cpus(&out->sink, cpus);
  sink_char(&out->sink, '"');
}

uint64_t cpus_microseconds(void) {
  struct rusage used = {0};
  getrusage(RUSAGE_SELF, &used);
  return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
         (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void cpus_text(struct sink* out) {
  struct cpus now;
  const struct cpus* latest = changed(&now) ? &now : &at_start;
  if (latest->known)
    sink_cpus(out, latest);
  else
    sink_char(out, '-');
}

void cpus_fields(struct json* out) {
  struct cpus now;
  bool differs = changed(&now);
  cpus_field(out, "cpus", at_start.known ? &at_start : NULL);
  cpus_field(out, "cpus_at_end", differs ? &now : NULL);
  uint64_t microseconds = cpus_microseconds();
  json_unsigned(out, "cpu_seconds", microseconds / 1000000);
  sink_char(&out->sink, '.');
  for (uint64_t unit = 100000; unit; unit /= 10)
    sink_char(&out->sink, (char)('0' + microseconds / unit % 10));
}
