// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "profiler/wrap.h"

static void* resized(void* memory, size_t bytes) {
  void* larger = realloc(memory, bytes);
  if (!larger) abort();
  return larger;
}

uint64_t* complete_handles(struct thread* thread, int count) {
  size_t needed = count > 0 ? (size_t)count : 1;
  if (needed > thread->handle_capacity) {
    thread->handles = resized(thread->handles, 2 * needed * sizeof *thread->handles);
    thread->handle_capacity = 2 * needed;
  }
  return thread->handles;
}

MPI_Status* complete_statuses(struct thread* thread, int count) {
  size_t needed = count > 0 ? (size_t)count : 1;
  if (needed > thread->status_capacity) {
    thread->statuses = resized(thread->statuses, 2 * needed * sizeof *thread->statuses);
    thread->status_capacity = 2 * needed;
  }
  return thread->statuses;
}

static void read_status(struct request* request, const MPI_Status* status) {
  int bytes = MPI_UNDEFINED, cancelled = 0;
  if (request->stamp) {
    PMPI_Test_cancelled(status, &cancelled);
    request->stamp->cancelled = cancelled;
    request->stamp->uncertain = false;
    target_arrived(&request->stamp->target, status);
  }
  if (!request->receives || request->facts.peer == PEER_NULL) return;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  if (bytes != MPI_UNDEFINED && bytes >= 0) request->facts.bytes = (uint64_t)bytes;
}

// Looks up the operations that the call completed; returns their number.
static int completed_requests(struct thread* thread, const struct completion* completion,
                              struct request* found, int total) {
  int number = 0;
  for (int i = 0; i < total; i++) {
    int index = completion->indices ? completion->indices[i] - completion->first_index : i;
    if (index < 0 || index >= completion->count || !thread->handles[index]) continue;
    if (!requests_complete(thread->handles[index], &found[number])) continue;
    if (completion->statuses) read_status(&found[number], &completion->statuses[i]);
    number++;
  }
  return number;
}

static void add_self(struct thread* thread, enum function function, uint64_t ticks) {
  struct facts facts = {.operation = FUNCTION_NONE};
  table_add(&thread->table, function, &facts, ticks);
}

// Divides the ticks equally; the first operations get the remainder.
static void add_shares(struct thread* thread, enum function function, struct request* requests,
                       int count, const struct span* span) {
  uint64_t share = span->ticks / (uint64_t)count, rest = span->ticks % (uint64_t)count;
  bool completes = function_kinds[function] == KIND_COMPLETE;
  uint32_t group = completes && count > 1 ? ++thread->stamps.groups : 0;
  for (int i = 0; i < count; i++) {
    uint32_t row = table_add_share(&thread->table, function, &requests[i].facts,
                                   share + ((uint64_t)i < rest), count);
    if (completes) stamp_end(requests[i].stamp, thread, row, span, group, (uint32_t)count);
  }
}

void complete_book(struct thread* thread, const struct completion* completion) {
  enum { FEW = 32 };
  struct request few[FEW], *requests = few;
  int total = completion->completed < 0 ? completion->count : completion->completed;
  profile_count(thread, completion->function, completion->ticks);
  if (total > FEW) requests = resized(NULL, (size_t)total * sizeof *requests);
  int number = completed_requests(thread, completion, requests, total);
  if (number)
    add_shares(thread, completion->function, requests, number,
               &(struct span){completion->begin, completion->ticks});
  else
    add_self(thread, completion->function, completion->ticks);
  if (requests != few) free(requests);
}

void activate_book(struct thread* thread, enum function function, int count, uint64_t begin,
                   uint64_t ticks) {
  enum { FEW = 32 };
  struct request few[FEW], *requests = few;
  int number = 0;
  profile_count(thread, function, ticks);
  if (count > FEW) requests = resized(NULL, (size_t)count * sizeof *requests);
  for (int i = 0; i < count; i++)
    if (requests_activate(thread->handles[i], thread, begin, &requests[number])) number++;
  if (number)
    add_shares(thread, function, requests, number, &(struct span){begin, ticks});
  else
    add_self(thread, function, ticks);
  if (requests != few) free(requests);
}
