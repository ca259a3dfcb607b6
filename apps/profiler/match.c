// SPDX-License-Identifier: Apache-2.0
//
// Matches the time stamps of all ranks, and computes how long each operation waited for its
// partner.
#include "profiler/match.h"

#include <stdio.h>
#include <stdlib.h>

// Stamps of one node differ by less than this from its clock.
enum { CLOCK_SLACK_NS = 1000 };

static char state[128] = "none: switched off by FABRICBENCH_PROFILE_STAMPS=0";

const char* stamps_state(void) {
  return state;
}

void value_add(struct value* value, double number) {
  if (!value->count || number < value->min) value->min = number;
  if (!value->count || number > value->max) value->max = number;
  value->count++;
  value->sum += number;
  value->squares += number * number;
}

void each_stamp(void (*each)(struct stamp*, const struct thread*, void*), void* context) {
  for (const struct thread* thread = profile.threads; thread; thread = thread->next)
    for (struct stamp_chunk* chunk = thread->stamps.first; chunk; chunk = chunk->next)
      for (uint32_t i = 0; i < chunk->used; i++) each(&chunk->stamps[i], thread, context);
}

static void to_nanoseconds(struct stamp* stamp, const struct thread* thread, void* context) {
  (void)thread, (void)context;
  stamp->entry = clocks_common((uint64_t)stamp->entry);
  if (!stamp->thread) return;
  stamp->call = clocks_common((uint64_t)stamp->call);
  stamp->end = clocks_common((uint64_t)stamp->end);
}

// Returns the time in the call before the partner began, and corrects what cannot be: a receive
// does not end before its send begins. A send that ended before its receive began waited for
// nothing.
static int64_t lateness(struct stamp* stamp) {
  if (stamp->entry == UNMATCHED || stamp->entry == NO_PARTNER) return 0;
  if (stamp->entry > stamp->end) {
    bool sends = stamp->target.kind == STAMP_SEND;
    bool possible = sends || stamp->entry <= stamp->end + clocks_error() + CLOCK_SLACK_NS;
    stamp->entry = sends ? NO_PARTNER : possible ? stamp->end : UNMATCHED;
    return sends || !possible ? 0 : stamp->end - stamp->call;
  }
  return stamp->entry > stamp->call ? stamp->entry - stamp->call : 0;
}

static void find_wait(struct stamp* stamp, const struct thread* thread, void* context) {
  (void)thread, (void)context;
  if (!stamp->thread) return;
  int64_t late = lateness(stamp);
  if (stamp->group && late > stamp->thread->waits[stamp->group])
    stamp->thread->waits[stamp->group] = late;
}

static struct match* match_of(const struct stamp* stamp) {
  struct match** match = &stamp->thread->matches[stamp->row];
  if (!*match) *match = allocated(1, sizeof **match);
  return *match;
}

static int bin_of(int64_t nanoseconds) {
  int bin = 63 - __builtin_clzll((unsigned long long)nanoseconds);
  return bin < HEAD_STARTS ? bin : HEAD_STARTS - 1;
}

static void book(struct stamp* stamp, const struct thread* thread, void* context) {
  (void)thread, (void)context;
  if (!stamp->thread || stamp->row == NO_ROW || stamp->entry == UNMATCHED) return;
  struct match* match = match_of(stamp);
  int64_t wait = stamp->group ? stamp->thread->waits[stamp->group] : lateness(stamp);
  value_add(&match->late, 1e-3 * (double)wait / stamp->together);
  if (stamp->entry == NO_PARTNER) return;
  int64_t head = stamp->call + wait - stamp->entry;
  if (head > 0) value_add(&match->heads[bin_of(head)], 1e-3 * (double)head);
}

void book_matches(void) {
  for (struct thread* thread = profile.threads; thread; thread = thread->next) {
    thread->waits = allocated((size_t)thread->stamps.groups + 1, sizeof *thread->waits);
    thread->matches = allocated(thread->table.used, sizeof *thread->matches);
  }
  each_stamp(find_wait, NULL);
  each_stamp(book, NULL);
}

static bool imports_unknown(void) {
  static char unknown[8192];
  symbols_unknown(unknown, sizeof unknown);
  int own = *unknown != '\0', any = 0;
  PMPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}

void stamps_match(void) {
  if (!stamps_enabled()) return;
  clocks_finish();
  if (imports_unknown()) {
    snprintf(state, sizeof state, "none: the program imports unprofiled MPI functions");
    return;
  }
  each_stamp(to_nanoseconds, NULL);
  match_messages();
  bool fits = match_collectives();
  book_matches();
  if (stamps_exhausted())
    snprintf(state, sizeof state, "first %llu operations", (unsigned long long)stamps_limit());
  else
    snprintf(state, sizeof state, fits ? "complete" : "complete, without collectives");
}
