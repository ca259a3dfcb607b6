// SPDX-License-Identifier: Apache-2.0
//
// The table of one thread: open addressing, key (message size, function, operation, peer,
// communicator size, role, region). Only its thread writes it.
#include <stdlib.h>
#include <string.h>

#include "profiler/profiler.h"

enum { DIFFERENT_SIZES = 256, FIRST_CAPACITY = 256 };

// Bits of record.rest. Bit 0 is always set.
enum {
  SIZED = 1,
  BINNED = 2,
  ROOT = 3,
  REGION = 4,
  PEER = 5,        // 3 bits
  FUNCTION = 8,    // 12 bits
  OPERATION = 20,  // 12 bits
  COMM_SIZE = 32   // 32 bits
};

static uint64_t flag(bool is_set, int bit) {
  return (uint64_t)is_set << bit;
}

static bool bit_of(const struct record* record, int bit) {
  return (record->rest >> bit) & 1;
}

enum function record_function(const struct record* record) {
  return (enum function)((record->rest >> FUNCTION) & 0xFFF);
}

enum function record_operation(const struct record* record) {
  return (enum function)((record->rest >> OPERATION) & 0xFFF);
}

enum peer record_peer(const struct record* record) {
  return (enum peer)((record->rest >> PEER) & 7);
}

uint32_t record_comm_size(const struct record* record) {
  return (uint32_t)(record->rest >> COMM_SIZE);
}

bool record_sized(const struct record* record) {
  return bit_of(record, SIZED);
}

bool record_binned(const struct record* record) {
  return bit_of(record, BINNED);
}

bool record_root(const struct record* record) {
  return bit_of(record, ROOT);
}

bool record_in_region(const struct record* record) {
  return bit_of(record, REGION);
}

static size_t hash(uint64_t a, uint64_t b) {
  uint64_t mixed = (a ^ (b * UINT64_C(0x9E3779B97F4A7C15))) * UINT64_C(0xD6E8FEB86659FD93);
  return (size_t)(mixed ^ (mixed >> 32));
}

static struct record* find(struct table* table, uint64_t bytes, uint64_t rest) {
  size_t mask = table->capacity - 1;
  for (size_t at = hash(bytes, rest) & mask;; at = (at + 1) & mask) {
    struct record* record = &table->records[at];
    if ((record->bytes == bytes && record->rest == rest) || !record->rest) return record;
  }
}

static void* zeroed(size_t count, size_t size) {
  void* memory = calloc(count, size);
  if (!memory) abort();
  return memory;
}

static void grow(struct table* table) {
  struct record* old = table->records;
  size_t count = table->capacity;
  table->capacity = count ? 2 * count : FIRST_CAPACITY;
  table->records = zeroed(table->capacity, sizeof *old);
  for (size_t i = 0; i < count; i++)
    if (old[i].rest) *find(table, old[i].bytes, old[i].rest) = old[i];
  free(old);
}

// Returns the slot of (function, size) in the set; slots hold the size times 4096 plus function
// plus 1. Sizes above 2^51 share slots.
static uint64_t* slot_of(struct sizes* sizes, uint64_t entry) {
  size_t mask = sizes->capacity - 1;
  size_t at = hash(entry, 0) & mask;
  while (sizes->slots[at] && sizes->slots[at] != entry) at = (at + 1) & mask;
  return &sizes->slots[at];
}

// Returns whether the size is one of the first DIFFERENT_SIZES sizes of the function.
static bool keeps_size(struct sizes* sizes, enum function function, uint64_t bytes) {
  if (2 * sizes->used >= sizes->capacity) {
    struct sizes old = *sizes;
    sizes->capacity = old.capacity ? 2 * old.capacity : FIRST_CAPACITY;
    sizes->slots = zeroed(sizes->capacity, sizeof *sizes->slots);
    for (size_t i = 0; i < old.capacity; i++)
      if (old.slots[i]) *slot_of(sizes, old.slots[i]) = old.slots[i];
    free(old.slots);
  }
  uint64_t entry = (bytes << 12) + (uint64_t)function + 1;
  uint64_t* slot = slot_of(sizes, entry);
  if (*slot) return true;
  if (sizes->count[function] >= DIFFERENT_SIZES) return false;
  *slot = entry;
  sizes->used++;
  sizes->count[function]++;
  return true;
}

static uint64_t bin_of(uint64_t bytes) {
  return bytes ? UINT64_C(1) << (63 - __builtin_clzll(bytes)) : 0;
}

void event_add(struct event* event, uint64_t bytes, uint64_t count) {
  if (!event->count || bytes < event->min) event->min = bytes;
  if (bytes > event->max) event->max = bytes;
  event->count += count;
  event->sum += bytes * count;
  event->squares += (double)bytes * (double)bytes * (double)count;
}

// Finds the record of a key that has no record of its own size: a new one, or that of a bin.
static struct record* insert(struct table* table, uint64_t bytes, uint64_t rest) {
  if (2 * table->used >= table->capacity) grow(table);
  uint64_t key = bytes;
  bool exact = !(rest & (UINT64_C(1) << SIZED)) ||
               keeps_size(&table->sizes, (enum function)((rest >> FUNCTION) & 0xFFF), bytes);
  if (!exact) {
    key = bin_of(bytes);
    rest |= UINT64_C(1) << BINNED;
  }
  struct record* record = find(table, key, rest);
  if (!record->rest) {
    record->bytes = key;
    record->rest = rest;
    record->row = (uint32_t)table->used++;
  }
  if (!exact) event_add(&record->bin, bytes, 1);
  return record;
}

static struct record* add(struct table* table, enum function function, const struct facts* facts,
                          uint64_t ticks) {
  uint64_t bytes = facts->sized ? facts->bytes : 0;
  uint64_t rest = 1 | flag(facts->sized, SIZED) | flag(facts->root, ROOT) |
                  flag(profile.in_region, REGION) | (uint64_t)facts->peer << PEER |
                  (uint64_t)function << FUNCTION | (uint64_t)facts->operation << OPERATION |
                  (uint64_t)facts->comm_size << COMM_SIZE;
  struct record* record = table->capacity ? find(table, bytes, rest) : NULL;
  if (!record || !record->rest) record = insert(table, bytes, rest);
  record->calls++;
  record->ticks += ticks;
  return record;
}

uint32_t table_add(struct table* table, enum function function, const struct facts* facts,
                   uint64_t ticks) {
  return add(table, function, facts, ticks)->row;
}

uint32_t table_add_share(struct table* table, enum function function, const struct facts* facts,
                         uint64_t ticks, int together) {
  struct record* record = add(table, function, facts, ticks);
  value_add(&record->shares, 1.0 / together);
  return record->row;
}

void table_clear(struct table* table) {
  free(table->records);
  free(table->sizes.slots);
  memset(table, 0, sizeof *table);
}
