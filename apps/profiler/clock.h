// SPDX-License-Identifier: Apache-2.0
//
// Time stamps in ticks: the processor's time stamp counter where it runs at a constant rate, else
// nanoseconds of CLOCK_MONOTONIC_RAW. SimGrid: nanoseconds of simulated time.
#ifndef FABRICBENCH_PROFILER_CLOCK_H
#define FABRICBENCH_PROFILER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__) && !defined(FABRICBENCH_PROFILER_SMPI)
#include <x86intrin.h>
#define CLOCK_HAS_TSC 1
#else
#define CLOCK_HAS_TSC 0
#endif

extern bool clock_uses_tsc;
uint64_t clock_nanoseconds(void);
void clock_start(void);  // before the first time stamp
// Microseconds per tick, measured from clock_start until now.
double clock_microseconds(void);

// Nanoseconds of the node's clock at a time stamp; measures the length of a tick at the first call.
int64_t clock_nanoseconds_at(uint64_t ticks);

static inline uint64_t clock_ticks(void) {
#if CLOCK_HAS_TSC
  if (clock_uses_tsc) return __rdtsc();
#endif
  return clock_nanoseconds();
}

#endif
