// SPDX-License-Identifier: Apache-2.0
//
// Prints the rate of this processor's time stamp counter in kHz. The emulated machines have the
// same counter. On a busy host their kernel measures a wrong rate, and their clocks run wrong.
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

enum { PAUSE_NS = 200000000, READINGS = 100 };

struct reading {
  unsigned long long ticks;
  double time_s;
};

// The counter and the time at the same moment: of several readings, the one that took least time.
static struct reading read_both(void) {
  struct reading best = {0};
  unsigned long long least = ~0ULL;
  for (int i = 0; i < READINGS; i++) {
    struct timespec now;
    unsigned long long begin = __rdtsc();
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned long long took = __rdtsc() - begin;
    if (took >= least) continue;
    least = took;
    best.ticks = begin + took / 2;
    best.time_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
  }
  return best;
}

int main(void) {
  struct reading begin = read_both();
  nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
  struct reading end = read_both();
  double khz = (double)(end.ticks - begin.ticks) / (end.time_s - begin.time_s) / 1e3;
  return printf("%.0f\n", khz) < 0;
}
