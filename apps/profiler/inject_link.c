// SPDX-License-Identifier: Apache-2.0
#include "profiler/inject_link.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

// An arrived message that was probed and not received yet.
struct probed {
  uint64_t comm, due;
  int source, tag;
};

static struct entry* entries;
static struct probed* messages;
static int entry_count, entry_capacity, message_count, message_capacity;
static uint64_t link_free;  // when the serial link has passed on all messages
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef FABRICBENCH_PROFILER_SMPI
uint64_t link_now(void) {
  return clock_nanoseconds();
}

void link_pass_time(uint64_t ns) {
  struct timespec time = {(time_t)(ns / UINT64_C(1000000000)), (long)(ns % UINT64_C(1000000000))};
  nanosleep(&time, NULL);  // SimGrid's: it advances the simulated time
}
#else
uint64_t link_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void link_pass_time(uint64_t ns) {
  uint64_t end = link_now() + ns;
  while (link_now() < end) continue;
}
#endif

void link_lock(void) {
  if (profile.multiple) pthread_mutex_lock(&lock);
}

void link_unlock(void) {
  if (profile.multiple) pthread_mutex_unlock(&lock);
}

static void* larger(void* list, int count, int* capacity, size_t bytes) {
  if (count < *capacity) return list;
  *capacity = count ? 2 * count : 64;
  void* more = realloc(list, (size_t)*capacity * bytes);
  if (!more) abort();
  return more;
}

void link_add(const struct entry* entry) {
  link_lock();
  entries = larger(entries, entry_count, &entry_capacity, sizeof *entries);
  entries[entry_count++] = *entry;
  link_unlock();
}

struct entry* link_find(uint64_t handle) {
  for (int i = entry_count - 1; i >= 0; i--)
    if (entries[i].handle == handle) return &entries[i];
  return NULL;
}

// The active receive with this handle, or null.
struct entry* link_find_receive(uint64_t handle) {
  struct entry* entry = handle ? link_find(handle) : NULL;
  return entry && entry->active && !entry->sends ? entry : NULL;
}

// When a message that arrives now may be seen.
static uint64_t due_of(uint64_t bytes, uint64_t now) {
  uint64_t start = now > link_free ? now : link_free;
  link_free = start + (uint64_t)(injector.ns_per_byte * (double)bytes + 0.5);
  return link_free + injector.latency_ns;
}

bool link_is_remote(int source, int self) {
  return source != MPI_PROC_NULL && source != self;
}

void link_arrive(struct entry* entry, const MPI_Status* status, uint64_t now) {
  if (entry->arrived) return;
  int bytes = MPI_UNDEFINED;
  if (status) {
    PMPI_Get_count(status, MPI_BYTE, &bytes);
    if (entry->source == MPI_ANY_SOURCE)
      entry->remote = link_is_remote(status->MPI_SOURCE, entry->self);
  }
  if (bytes != MPI_UNDEFINED && bytes >= 0) entry->bytes = (uint64_t)bytes;
  entry->arrived = true;
  entry->due = entry->remote && injector.withholds ? due_of(entry->bytes, now) : now;
}

// Observes the arrivals of all pending receives.
void link_observe(const struct thread* thread) {
  if (!CAN_OBSERVE || !injector.withholds) return;
  int flag;
  link_lock();
  for (int i = 0; i < entry_count; i++) {
    struct entry* entry = &entries[i];
    bool foreign = entry->owner && entry->owner != thread;
    if (entry->sends || !entry->active || entry->arrived || foreign) continue;
    MPI_Status status;
    PMPI_Request_get_status((MPI_Request)entry->handle, &flag, &status);
    if (flag) link_arrive(entry, &status, link_now());
  }
  link_unlock();
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);  // progress
}

void link_wait_until(const struct thread* thread, uint64_t due) {
#ifdef FABRICBENCH_PROFILER_SMPI
  (void)thread;
  uint64_t now = link_now();
  if (now < due) link_pass_time(due - now);
#else
  while (link_now() < due) link_observe(thread);
#endif
}

// Removes a message that was probed, and returns when it may be seen; 0 if there is none.
uint64_t link_take_probed(uint64_t comm, int source, int tag) {
  uint64_t due = 0;
  link_lock();
  for (int i = 0; i < message_count && !due; i++) {
    const struct probed* message = &messages[i];
    if (message->comm != comm || (source != MPI_ANY_SOURCE && message->source != source) ||
        (tag != MPI_ANY_TAG && message->tag != tag))
      continue;
    due = message->due;
    for (message_count--; i < message_count; i++) messages[i] = messages[i + 1];
  }
  link_unlock();
  return due;
}

uint64_t link_probed(uint64_t comm, int source, int tag, uint64_t bytes, uint64_t now) {
  for (int i = 0; i < message_count; i++)
    if (messages[i].comm == comm && messages[i].source == source && messages[i].tag == tag)
      return messages[i].due;
  messages = larger(messages, message_count, &message_capacity, sizeof *messages);
  messages[message_count] = (struct probed){comm, due_of(bytes, now), source, tag};
  return messages[message_count++].due;
}

void link_release(const struct thread* thread) {
  link_lock();
  for (int i = 0; i < entry_count; i++)
    if (entries[i].owner == thread) entries[i].owner = NULL;
  link_unlock();
}

void link_remove(struct entry* entry) {
  *entry = entries[--entry_count];
}
