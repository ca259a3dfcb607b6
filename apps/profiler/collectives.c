// SPDX-License-Identifier: Apache-2.0
//
// Matches collectives: the n-th of a communicator on each of its ranks. One of its ranks, another
// for each block of collectives, gets the begin times of all and answers with that of each partner.
#include <stdlib.h>

#include "profiler/match.h"

enum { BLOCK = 16, MOST = 200000000 };

// What a rank reports of a collective.
struct report {
  uint64_t key;  // hash of communicator, number, kind and root
  int64_t entry;
  uint32_t size;  // ranks of the communicator
  uint16_t kind;
  uint16_t root;  // 1 on the root
};

enum { NUMBERS_OF_REPORT = sizeof(struct report) / sizeof(uint64_t) };

struct collective {
  struct stamp* stamp;
  struct report report;
  int32_t owner;
};

struct collectives {
  struct collective* list;
  size_t count;
};

static void count(struct stamp* stamp, const struct thread* thread, void* context) {
  size_t* number = context;
  (void)thread;
  *number += stamp->target.kind > STAMP_RECEIVE;
}

static void add(struct stamp* stamp, const struct thread* thread, void* context) {
  struct collectives* collectives = context;
  (void)thread;
  const struct target* target = &stamp->target;
  if (target->kind <= STAMP_RECEIVE) return;
  const struct comm* comm = comms_at(target->comm);
  int64_t entry = stamp->entry;
  stamp->entry = UNMATCHED;
  if (comm->ambiguous || target->peer < 0 || target->peer >= comm->size) return;
  uint32_t number = (uint32_t)target->tag;
  uint64_t key = mixed(mixed(comm->key, number), (uint64_t)target->peer << 8 | target->kind);
  struct collective* added = &collectives->list[collectives->count++];
  added->stamp = stamp;
  added->owner = comm->ranks[(number / BLOCK + comm->order) % (uint32_t)comm->size];
  added->report = (struct report){.key = key,
                                  .entry = entry,
                                  .size = (uint32_t)comm->size,
                                  .kind = target->kind,
                                  .root = target->peer == comm->self};
}

static int by_owner(const void* left, const void* right) {
  const struct collective *a = left, *b = right;
  return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static int by_key(const void* left, const void* right) {
  const struct report *a = *(const struct report* const*)left,
                      *b = *(const struct report* const*)right;
  return a->key < b->key ? -1 : a->key > b->key;
}

static int64_t partner_of(const struct report* report, int64_t last, int64_t root) {
  if (report->kind == STAMP_ALL) return last;
  if (report->kind == STAMP_FROM_ROOT) return report->root ? NO_PARTNER : root;
  return report->root ? last : NO_PARTNER;
}

// Answers the reports of one collective; it is complete if each rank has sent one.
static void answer_one(const struct report* const* same, size_t number, const struct report* first,
                       int64_t* answers) {
  int64_t last = INT64_MIN, root = INT64_MIN;
  for (size_t i = 0; i < number; i++) {
    if (same[i]->entry > last) last = same[i]->entry;
    if (same[i]->root) root = same[i]->entry;
  }
  for (size_t i = 0; i < number; i++)
    answers[same[i] - first] =
        number == same[0]->size ? partner_of(same[i], last, root) : UNMATCHED;
}

static void answer(const struct report* reports, size_t number, int64_t* answers) {
  const struct report** sorted = allocated(number, sizeof *sorted);
  for (size_t i = 0; i < number; i++) sorted[i] = &reports[i];
  qsort(sorted, number, sizeof *sorted, by_key);
  for (size_t i = 0, next; i < number; i = next) {
    for (next = i; next < number && sorted[next]->key == sorted[i]->key; next++) continue;
    answer_one(sorted + i, next - i, reports, answers);
  }
  free(sorted);
}

struct counts {  // by rank, in numbers of 64 bits
  int *own, *own_at, *other, *other_at;
  size_t others;  // reports that this rank gets
};

static void place(const int* counts, int* displacements) {
  for (int rank = 1; rank < profile.size; rank++)
    displacements[rank] = displacements[rank - 1] + counts[rank - 1];
}

static void scale(struct counts* counts, int factor, int divisor) {
  for (int rank = 0; rank < profile.size; rank++) {
    counts->own[rank] = counts->own[rank] / divisor * factor;
    counts->other[rank] = counts->other[rank] / divisor * factor;
  }
  place(counts->own, counts->own_at);
  place(counts->other, counts->other_at);
}

static void exchange(const struct collectives* collectives, struct counts* counts) {
  struct report *own = allocated(collectives->count, sizeof *own),
                *others = allocated(counts->others, sizeof *others);
  int64_t *answers = allocated(counts->others, sizeof *answers),
          *partners = allocated(collectives->count, sizeof *partners);
  for (size_t i = 0; i < collectives->count; i++) own[i] = collectives->list[i].report;
  scale(counts, NUMBERS_OF_REPORT, 1);
  PMPI_Alltoallv(own, counts->own, counts->own_at, MPI_UINT64_T, others, counts->other,
                 counts->other_at, MPI_UINT64_T, MPI_COMM_WORLD);
  answer(others, counts->others, answers);
  scale(counts, 1, NUMBERS_OF_REPORT);
  PMPI_Alltoallv(answers, counts->other, counts->other_at, MPI_INT64_T, partners, counts->own,
                 counts->own_at, MPI_INT64_T, MPI_COMM_WORLD);
  for (size_t i = 0; i < collectives->count; i++) collectives->list[i].stamp->entry = partners[i];
  free(own);
  free(others);
  free(answers);
  free(partners);
}

static bool count_reports(const struct collectives* collectives, struct counts* counts) {
  for (size_t i = 0; i < collectives->count; i++) counts->own[collectives->list[i].owner]++;
  PMPI_Alltoall(counts->own, 1, MPI_INT, counts->other, 1, MPI_INT, MPI_COMM_WORLD);
  for (int rank = 0; rank < profile.size; rank++) counts->others += (size_t)counts->other[rank];
  int fits = counts->others <= MOST, all_fit = 0;
  PMPI_Allreduce(&fits, &all_fit, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all_fit != 0;
}

bool match_collectives(void) {
  struct collectives collectives = {0};
  size_t number = 0, ranks = (size_t)profile.size;
  int* memory = allocated(4 * ranks, sizeof *memory);
  struct counts counts = {memory, memory + ranks, memory + 2 * ranks, memory + 3 * ranks, 0};
  each_stamp(count, &number);
  collectives.list = allocated(number, sizeof *collectives.list);
  each_stamp(add, &collectives);
  qsort(collectives.list, collectives.count, sizeof *collectives.list, by_owner);
  bool fits = count_reports(&collectives, &counts);
  if (fits) exchange(&collectives, &counts);
  free(collectives.list);
  free(memory);
  return fits;
}
