// SPDX-License-Identifier: Apache-2.0
#include "profiler/stamps.h"

#include <stdlib.h>

#include "profiler/profiler.h"

enum { DEFAULT_LIMIT = 1000000, LARGEST_LIMIT = 100000000 };

static uint64_t limit, reserved;
static bool exhausted;

void stamps_start(void) {
  const char* value = getenv("FABRICBENCH_PROFILE_STAMPS");
  char* end = NULL;
  unsigned long long number = value ? strtoull(value, &end, 10) : 0;
  bool is_number = value && *value >= '0' && *value <= '9' && end && !*end;
  limit = is_number ? number : DEFAULT_LIMIT;
  if (limit > LARGEST_LIMIT) limit = LARGEST_LIMIT;
  int own = limit > 0, all = 0;
  PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all) limit = 0;
}

bool stamps_enabled(void) {
  return limit > 0;
}

bool stamps_exhausted(void) {
  return __atomic_load_n(&exhausted, __ATOMIC_RELAXED);
}

uint64_t stamps_limit(void) {
  return limit;
}

// Reserves room for up to STAMPS_PER_CHUNK stamps. Returns 0 if the process has its limit.
static uint32_t reserve(void) {
  uint64_t before = __atomic_fetch_add(&reserved, STAMPS_PER_CHUNK, __ATOMIC_RELAXED);
  if (before >= limit) return 0;
  return limit - before < STAMPS_PER_CHUNK ? (uint32_t)(limit - before) : STAMPS_PER_CHUNK;
}

static struct stamp_chunk* new_chunk(struct stamp_list* list) {
  if (stamps_exhausted()) return NULL;
  uint32_t size = reserve();
  struct stamp_chunk* chunk = size ? malloc(sizeof *chunk) : NULL;
  if (!chunk) {
    __atomic_store_n(&exhausted, true, __ATOMIC_RELAXED);
    return NULL;
  }
  chunk->next = NULL;
  chunk->used = 0;
  chunk->size = size;
  if (list->last)
    list->last->next = chunk;
  else
    list->first = chunk;
  list->last = chunk;
  return chunk;
}

struct stamp* stamps_begin(struct thread* thread, const struct target* target, uint64_t entry) {
  if (!target->comm || !limit) return NULL;
  struct stamp_chunk* chunk = thread->stamps.last;
  if (!chunk || chunk->used == chunk->size) {
    chunk = new_chunk(&thread->stamps);
    if (!chunk) return NULL;
  }
  struct stamp* stamp = &chunk->stamps[chunk->used++];
  stamp->entry = (int64_t)entry;
  stamp->target = *target;
  stamp->thread = NULL;
  stamp->cancelled = stamp->uncertain = false;
  return stamp;
}

void stamps_clear(struct thread* thread) {
  for (struct stamp_chunk *chunk = thread->stamps.first, *next; chunk; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  thread->stamps = (struct stamp_list){0};
  reserved = 0;
  exhausted = false;
}
