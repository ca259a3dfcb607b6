// SPDX-License-Identifier: Apache-2.0
//
// Numbers the communicators. All ranks of a communicator compute the same key: a hash of the ranks
// in MPI_COMM_WORLD and of how many communicators of these ranks there were before. A rank creates
// communicators of the same ranks in the same order as the others, unless several of its threads do
// so. Then the keys may name different communicators; `ambiguous` excludes them.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/profiler.h"

enum { BUCKETS = 1024, MOST = 65536, BLOCK = 256 };

static struct comm* blocks[MOST / BLOCK];
static uint32_t count, buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ (hash >> 29);
}

static uint64_t hash_ranks(const int* ranks, int size) {
  uint64_t hash = (uint64_t)size + 1;
  for (int i = 0; i < size; i++) hash = mix(hash, (uint64_t)ranks[i] + 1);
  return hash;
}

struct comm* comms_at(uint32_t number) {
  return &blocks[number / BLOCK][number % BLOCK];
}

static const int* copied(const int* ranks, int size) {
  int* copy = malloc(((size_t)size + 1) * sizeof *copy);
  if (!copy) abort();
  memcpy(copy, ranks, (size_t)size * sizeof *copy);
  return copy;
}

static uint32_t latest_of(uint64_t group) {
  uint32_t number = buckets[group % BUCKETS];
  while (number && comms_at(number)->group != group) number = comms_at(number)->previous;
  return number;
}

// Marks the communicators of these ranks that threads created in an unknown order.
static void mark_ambiguous(uint64_t group) {
  for (uint32_t i = buckets[group % BUCKETS]; i; i = comms_at(i)->previous)
    if (comms_at(i)->group == group && comms_at(i)->creator) comms_at(i)->ambiguous = true;
}

static uint32_t add(const struct thread* creator, const int* ranks, int size, int self) {
  uint64_t group = hash_ranks(ranks, size);
  uint32_t same = latest_of(group), number = count + 1;
  if (number >= MOST) return 0;
  if (!blocks[number / BLOCK]) {
    blocks[number / BLOCK] = calloc(BLOCK, sizeof(struct comm));
    if (!blocks[number / BLOCK]) abort();
  }
  struct comm* comm = comms_at(number);
  comm->group = group;
  comm->creator = creator;
  comm->size = size;
  comm->self = self;
  comm->order = same ? comms_at(same)->order + 1 : 0;
  comm->ranks = same ? comms_at(same)->ranks : copied(ranks, size);
  comm->key = mix(group, comm->order);
  comm->previous = buckets[group % BUCKETS];
  comm->lost[STAMP_SEND] = comm->lost[STAMP_RECEIVE] = INT64_MAX;
  buckets[group % BUCKETS] = count = number;
  const struct thread* before = same ? comms_at(same)->creator : NULL;
  if (before && (before != creator || comms_at(same)->ambiguous)) mark_ambiguous(group);
  return number;
}

uint32_t comms_add(const struct thread* creator, const int* ranks, int size, int self) {
  for (int i = 0; i < size; i++)
    if (ranks[i] < 0) return 0;
  pthread_mutex_lock(&lock);
  uint32_t number = add(creator, ranks, size, self);
  pthread_mutex_unlock(&lock);
  return number;
}

void comms_start(void) {
  int* ranks = malloc((size_t)profile.size * sizeof *ranks);
  if (!ranks) abort();
  for (int i = 0; i < profile.size; i++) ranks[i] = i;
  comms_add(NULL, ranks, profile.size, profile.rank);
  comms_add(NULL, &profile.rank, 1, 0);
  free(ranks);
}
