// SPDX-License-Identifier: Apache-2.0
//
// Matches sends with receives. Of the messages with one sender, receiver, communicator and tag, the
// n-th send belongs to the n-th receive, because such messages do not overtake each other. Each
// rank tells each other rank when it began its operations with it.
#include <stdlib.h>

#include "profiler/match.h"

struct message {
  struct stamp* stamp;
  const struct thread* thread;  // that began it
  uint64_t key;                 // hash of sender, receiver, communicator and tag
  int64_t entry;
  uint32_t order;
  int32_t peer;  // in MPI_COMM_WORLD
};

struct messages {
  struct message* list;
  size_t count, threads;
};

enum { SENDS, RECEIVES, DIRECTIONS };

static int direction_of(const struct message* message) {
  return message->stamp->target.kind == STAMP_SEND ? SENDS : RECEIVES;
}

static void count(struct stamp* stamp, const struct thread* thread, void* context) {
  size_t* number = context;
  (void)thread;
  *number += stamp->target.kind <= STAMP_RECEIVE;
}

// A receive whose sender or tag is unknown makes the order of the later ones unknown. So does an
// operation that may have been cancelled.
static void find_lost(struct stamp* stamp, const struct thread* thread, void* context) {
  (void)thread;
  const struct target* target = &stamp->target;
  if (target->kind > STAMP_RECEIVE || stamp->cancelled) return;
  bool is_known = target->kind == STAMP_SEND || (target->peer >= 0 && target->tag >= 0);
  if (is_known && !stamp->uncertain) return;
  int64_t lost = *(const bool*)context ? INT64_MIN : stamp->entry,
          *first = &comms_at(target->comm)->lost[target->kind];
  if (lost < *first) *first = lost;
}

static void add(struct stamp* stamp, const struct thread* thread, void* context) {
  struct messages* messages = context;
  if (stamp->target.kind > STAMP_RECEIVE) return;
  struct comm* comm = comms_at(stamp->target.comm);
  int32_t peer = stamp->target.peer, tag = stamp->target.tag;
  int64_t entry = stamp->entry;
  bool receives = stamp->target.kind == STAMP_RECEIVE;
  stamp->entry = UNMATCHED;
  if (stamp->cancelled || comm->ambiguous || peer < 0 || peer >= comm->size || tag < 0) return;
  if (entry >= comm->lost[stamp->target.kind]) return;
  int32_t world = comm->ranks[peer], sender = receives ? world : profile.rank,
          receiver = receives ? profile.rank : world;
  uint64_t key =
      mixed(mixed(comm->key, (uint32_t)tag), (uint64_t)sender << 32 | (uint32_t)receiver);
  messages->list[messages->count] =
      (struct message){.stamp = stamp, .thread = thread, .key = key, .entry = entry, .peer = world};
  messages->list[messages->count].order = (uint32_t)messages->count;
  messages->count++;
}

static int compare(const void* left, const void* right) {
  const struct message *a = left, *b = right;
  if (a->peer != b->peer) return a->peer < b->peer ? -1 : 1;
  if (direction_of(a) != direction_of(b)) return direction_of(a) - direction_of(b);
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

static bool alike(const struct message* a, const struct message* b) {
  return a->peer == b->peer && direction_of(a) == direction_of(b) && a->key == b->key;
}

// Drops messages of one key that several threads began: their order is unknown.
static void drop_ambiguous(struct messages* messages) {
  size_t kept = 0;
  for (size_t i = 0, next; i < messages->count; i = next) {
    bool one_thread = true;
    for (next = i; next < messages->count && alike(&messages->list[i], &messages->list[next]);
         next++)
      one_thread = one_thread && messages->list[next].thread == messages->list[i].thread;
    for (size_t at = i; one_thread && at < next; at++) messages->list[kept++] = messages->list[at];
  }
  messages->count = kept;
}

struct item {
  uint64_t key;
  int64_t entry;
};

enum { NUMBERS_OF_ITEM = sizeof(struct item) / sizeof(uint64_t) };

// The n-th own message of a key belongs to the n-th of the other side.
static void merge(const struct message* own, int own_count, const struct item* other, int count) {
  for (int i = 0, k = 0; i < own_count && k < count;) {
    if (own[i].key == other[k].key)
      own[i++].stamp->entry = other[k++].entry;
    else if (own[i].key < other[k].key)
      i++;
    else
      k++;
  }
}

static int smaller(int a, int b) {
  return a < b ? a : b;
}

static void exchange(const struct messages* messages) {
  size_t ranks = (size_t)profile.size;
  int(*own)[DIRECTIONS] = allocated(ranks, sizeof *own);
  int(*other)[DIRECTIONS] = allocated(ranks, sizeof *other);
  int *counts = allocated(ranks, sizeof(int)), *displacements = allocated(ranks, sizeof(int));
  for (size_t i = 0; i < messages->count; i++)
    own[messages->list[i].peer][direction_of(&messages->list[i])]++;
  PMPI_Alltoall(own, DIRECTIONS, MPI_INT, other, DIRECTIONS, MPI_INT, MPI_COMM_WORLD);
  struct item *sent = allocated(messages->count, sizeof *sent),
              *received = allocated(messages->count, sizeof *received);
  size_t used = 0, first = 0;
  for (size_t rank = 0; rank < ranks; rank++) {
    size_t begin = used;
    for (int direction = SENDS; direction < DIRECTIONS; direction++) {
      // No side gets more than it has itself.
      int number = smaller(own[rank][direction], other[rank][!direction]);
      for (int i = 0; i < number; i++) {
        const struct message* message = &messages->list[first + (size_t)i];
        sent[used++] = (struct item){message->key, message->entry};
      }
      first += (size_t)own[rank][direction];
    }
    counts[rank] = (int)(used - begin) * NUMBERS_OF_ITEM;
    displacements[rank] = (int)begin * NUMBERS_OF_ITEM;
  }
  PMPI_Alltoallv(sent, counts, displacements, MPI_UINT64_T, received, counts, displacements,
                 MPI_UINT64_T, MPI_COMM_WORLD);
  const struct message* list = messages->list;
  for (size_t rank = 0; rank < ranks; rank++) {
    const struct item* items = received + displacements[rank] / NUMBERS_OF_ITEM;
    int sends = smaller(other[rank][SENDS], own[rank][RECEIVES]),
        receives = smaller(other[rank][RECEIVES], own[rank][SENDS]);
    merge(list, own[rank][SENDS], items + sends, receives);
    merge(list + own[rank][SENDS], own[rank][RECEIVES], items, sends);
    list += own[rank][SENDS] + own[rank][RECEIVES];
  }
  free(own);
  free(other);
  free(counts);
  free(displacements);
  free(sent);
  free(received);
}

void match_messages(void) {
  struct messages messages = {0};
  size_t number = 0;
  bool several_threads = profile.threads && profile.threads->next;
  each_stamp(count, &number);
  each_stamp(find_lost, &several_threads);
  messages.list = allocated(number, sizeof *messages.list);
  each_stamp(add, &messages);
  qsort(messages.list, messages.count, sizeof *messages.list, compare);
  if (several_threads) drop_ambiguous(&messages);
  exchange(&messages);
  free(messages.list);
}
