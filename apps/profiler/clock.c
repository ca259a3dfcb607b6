// SPDX-License-Identifier: Apache-2.0
#include "profiler/clock.h"

#include <time.h>
#if CLOCK_HAS_TSC
#include <cpuid.h>
#endif
#ifdef FABRICBENCH_PROFILER_SMPI
#include <mpi.h>
#endif

bool clock_uses_tsc;

#ifdef FABRICBENCH_PROFILER_SMPI

uint64_t clock_nanoseconds(void) {
  return (uint64_t)(PMPI_Wtime() * 1e9 + 0.5);
}

void clock_start(void) {}

double clock_microseconds(void) {
  return 1e-3;
}

int64_t clock_nanoseconds_at(uint64_t ticks) {
  return (int64_t)ticks;
}

#else

static uint64_t first_ticks, first_ns;

uint64_t clock_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static bool has_invariant_tsc(void) {
#if CLOCK_HAS_TSC
  unsigned a, b, c, d;
  const unsigned power_leaf = 0x80000007, invariant = 1 << 8;
  return __get_cpuid(power_leaf, &a, &b, &c, &d) && (d & invariant);
#else
  return false;
#endif
}

void clock_start(void) {
  clock_uses_tsc = has_invariant_tsc();
  first_ns = clock_nanoseconds();
  first_ticks = clock_ticks();
}

double clock_microseconds(void) {
  if (!clock_uses_tsc) return 1e-3;
  uint64_t ns = clock_nanoseconds() - first_ns, ticks = clock_ticks() - first_ticks;
  return ticks ? 1e-3 * (double)ns / (double)ticks : 1e-3;
}

int64_t clock_nanoseconds_at(uint64_t ticks) {
  static double ns_per_tick;
  if (!clock_uses_tsc) return (int64_t)ticks;
  if (ns_per_tick == 0) ns_per_tick = 1e3 * clock_microseconds();
  return (int64_t)first_ns + (int64_t)(ns_per_tick * (double)(int64_t)(ticks - first_ticks));
}

#endif
