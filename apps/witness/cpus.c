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

// Of the main thread, which is the one that a launcher and an MPI library bind.
static void read_cpus(struct cpus* cpus) {
  memset(cpus, 0, sizeof *cpus);
  cpus->known = syscall(SYS_sched_getaffinity, getpid(), sizeof cpus->words, cpus->words) > 0;
}

static bool has(const struct cpus* cpus, unsigned cpu) {
  return cpu < CPU_LIMIT && (cpus->words[cpu / WORD_BITS] >> cpu % WORD_BITS & 1);
}

// "0-3,8": as the kernel writes them.
static void sink_cpus(struct sink* out, const struct cpus* cpus) {
  bool first = true;
  sink_char(out, '"');
  for (unsigned cpu = 0; cpu < CPU_LIMIT; cpu++) {
    if (!has(cpus, cpu)) continue;
    unsigned last = cpu;
    while (has(cpus, last + 1)) last++;
    if (!first) sink_char(out, ',');
    sink_number(out, cpu);
    if (last > cpu) sink_char(out, '-'), sink_number(out, last);
    cpu = last;
    first = false;
  }
  sink_char(out, '"');
}

void cpus_remember(void) {
  read_cpus(&at_start);
}

void cpus_fields(struct sink* out) {
  struct cpus now;
  read_cpus(&now);
  sink_string(out, ",\"cpus\":");
  if (at_start.known)
    sink_cpus(out, &at_start);
  else
    sink_string(out, "null");
  sink_string(out, ",\"cpus_at_end\":");
  if (now.known && memcmp(&now, &at_start, sizeof now) != 0)
    sink_cpus(out, &now);
  else
    sink_string(out, "null");
  struct rusage used = {0};
  getrusage(RUSAGE_SELF, &used);
  uint64_t microseconds = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                          (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  sink_string(out, ",\"cpu_seconds\":");
  sink_number(out, microseconds / 1000000);
  sink_char(out, '.');
  for (uint64_t unit = 100000; unit; unit /= 10)
    sink_char(out, (char)('0' + microseconds / unit % 10));
}
