// SPDX-License-Identifier: Apache-2.0
//
// The requests of the process: open addressing by handle. A handle may be in the table several
// times, because MPICH gives all sends that are complete at once the same handle.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/profiler.h"

enum { FIRST_CAPACITY = 1024 };

static struct request* slots;
static size_t capacity, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void begin(void) {
  if (profile.multiple) pthread_mutex_lock(&lock);
}

static void end(void) {
  if (profile.multiple) pthread_mutex_unlock(&lock);
}

static size_t home(uint64_t handle) {
  uint64_t mixed = handle * UINT64_C(0x9E3779B97F4A7C15);
  return (size_t)(mixed >> 32) & (capacity - 1);
}

static void place(const struct request* request) {
  size_t at = home(request->handle);
  while (slots[at].handle) at = (at + 1) & (capacity - 1);
  slots[at] = *request;
}

static void grow(void) {
  struct request* old = slots;
  size_t count = capacity;
  capacity = count ? 2 * count : FIRST_CAPACITY;
  slots = calloc(capacity, sizeof *slots);
  if (!slots) abort();
  for (size_t i = 0; i < count; i++)
    if (old[i].handle) place(&old[i]);
  free(old);
}

static struct request* find(uint64_t handle) {
  if (!used) return NULL;
  for (size_t at = home(handle); slots[at].handle; at = (at + 1) & (capacity - 1))
    if (slots[at].handle == handle) return &slots[at];
  return NULL;
}

// Moves later entries of the same probe sequence into the hole.
static void erase(struct request* request) {
  size_t mask = capacity - 1, hole = (size_t)(request - slots);
  for (size_t at = (hole + 1) & mask; slots[at].handle; at = (at + 1) & mask) {
    size_t distance = (at - home(slots[at].handle)) & mask;
    if (distance >= ((at - hole) & mask)) {
      slots[hole] = slots[at];
      hole = at;
    }
  }
  slots[hole].handle = 0;
  used--;
}

void requests_add(const struct request* request) {
  begin();
  if (2 * used >= capacity) grow();
  place(request);
  used++;
  end();
}

bool requests_complete(uint64_t handle, struct request* request) {
  begin();
  struct request* entry = find(handle);
  bool is_active = entry && entry->active;
  if (is_active) {
    *request = *entry;
    if (entry->persistent)
      entry->active = false;
    else
      erase(entry);
  }
  end();
  return is_active;
}

bool requests_activate(uint64_t handle, struct thread* thread, uint64_t entry,
                       struct request* request) {
  begin();
  struct request* found = find(handle);
  if (found) {
    found->active = true;
    found->stamp = stamps_begin(thread, &found->target, entry);
    *request = *found;
  }
  end();
  return found != NULL;
}

bool requests_receives(uint64_t handle) {
  begin();
  const struct request* entry = find(handle);
  bool receives = entry && entry->active && entry->receives;
  end();
  return receives;
}

void requests_free(uint64_t handle) {
  begin();
  struct request* entry = find(handle);
  if (entry) erase(entry);
  end();
}

void requests_cancel(uint64_t handle) {
  begin();
  const struct request* entry = find(handle);
  if (entry && entry->active && entry->stamp) entry->stamp->uncertain = true;
  end();
}
