// SPDX-License-Identifier: Apache-2.0
//
// The steps of stamps_match: what the ranks exchange, and what follows for the rows.
#ifndef FABRICBENCH_PROFILER_MATCH_H
#define FABRICBENCH_PROFILER_MATCH_H

#include "profiler/profiler.h"

// What stamp.entry holds after the exchange instead of the time when the partner began.
#define UNMATCHED INT64_MIN
#define NO_PARTNER INT64_MAX  // nothing to wait for

// Calls `each` with the stamps that each thread began, in this order.
void each_stamp(void (*each)(struct stamp*, const struct thread*, void*), void* context);

// Both are collective over MPI_COMM_WORLD.
void match_messages(void);
bool match_collectives(void);  // false: there are too many
// Computes the events of the rows.
void book_matches(void);

static inline uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ (hash >> 29);
}

static inline void* allocated(size_t count, size_t size) {
  void* memory = calloc(count + 1, size);
  if (!memory) abort();
  return memory;
}

#endif
