// SPDX-License-Identifier: Apache-2.0
//
// What the generated wrappers of both bindings use.
#ifndef FABRICBENCH_PROFILER_WRAP_H
#define FABRICBENCH_PROFILER_WRAP_H

#include "profiler/inject.h"
#include "profiler/profiler.h"

static inline uint64_t sum(const int* counts, int number) {
  uint64_t total = 0;
  for (int i = 0; i < number; i++)
    if (counts[i] > 0) total += (uint64_t)counts[i];
  return total;
}

static inline uint64_t positive(int count) {
  return count > 0 ? (uint64_t)count : 0;
}

static inline uint64_t weighted_sum(struct thread* thread, const int* counts,
                                    const MPI_Datatype* types, int number) {
  uint64_t total = 0;
  for (int i = 0; i < number; i++)
    if (counts[i] > 0) total += (uint64_t)counts[i] * type_bytes(thread, types[i]);
  return total;
}

static inline uint64_t weighted_sum_fortran(struct thread* thread, const int* counts,
                                            const MPI_Fint* types, int number) {
  uint64_t total = 0;
  for (int i = 0; i < number; i++)
    if (counts[i] > 0) total += (uint64_t)counts[i] * type_bytes(thread, MPI_Type_f2c(types[i]));
  return total;
}

static inline int peers_in(const struct group_facts* group) {
  return group ? group->peers : 0;
}

static inline int sources_in(const struct group_facts* group) {
  return group ? group->in_degree : 0;
}

static inline int destinations_in(const struct group_facts* group) {
  return group ? group->out_degree : 0;
}

static inline bool is_root(const struct group_facts* group, int root) {
  return root == MPI_ROOT || (group && root >= 0 && root == group->self);
}

// Counts a call. Returns its row.
static inline uint32_t count_call(struct thread* thread, enum function function,
                                  const struct facts* facts, uint64_t ticks) {
  profile_count(thread, function, ticks);
  return table_add(&thread->table, function, facts, ticks);
}

struct span {  // ticks of a call
  uint64_t begin, ticks;
};

static const struct target no_target = {0};

// What a message to or from `peer` is matched by.
static inline struct target message_target(const struct group_facts* group, enum stamp_kind kind,
                                           int peer, int tag) {
  if (!group || peer == MPI_PROC_NULL) return no_target;
  return (struct target){.comm = group->comm, .peer = peer, .tag = tag, .kind = (uint8_t)kind};
}

// What a collective is matched by. Counts it in its communicator.
static inline struct target collective_target(const struct group_facts* group, enum stamp_kind kind,
                                              int root) {
  if (!group || !group->comm) return no_target;
  uint32_t number = __atomic_fetch_add(&comms_at(group->comm)->collectives, 1, __ATOMIC_RELAXED);
  return (struct target){
      .comm = group->comm, .peer = root, .tag = (int32_t)number, .kind = (uint8_t)kind};
}

// Replaces the wildcards of a receive.
static inline void target_arrived(struct target* target, const MPI_Status* status) {
  if (!status || target->kind != STAMP_RECEIVE || !target->comm) return;
  if (target->peer == MPI_ANY_SOURCE) target->peer = status->MPI_SOURCE;
  if (target->tag == MPI_ANY_TAG) target->tag = status->MPI_TAG;
}

static inline void stamp_end(struct stamp* stamp, struct thread* thread, uint32_t row,
                             const struct span* span, uint32_t group, uint32_t together) {
  if (!stamp) return;
  stamp->call = (int64_t)span->begin;
  stamp->end = (int64_t)(span->begin + span->ticks);
  stamp->thread = thread;
  stamp->row = row;
  stamp->group = group;
  stamp->together = together;
}

// The time stamps of a blocking call.
static inline void stamp_call(struct thread* thread, const struct target* target, uint32_t row,
                              const struct span* span) {
  stamp_end(stamps_begin(thread, target, span->begin), thread, row, span, 0, 1);
}

// The time stamps of MPI_Sendrecv. Its row belongs to the received message if there is one.
static inline void stamp_both(struct thread* thread, const struct target* sent,
                              const struct target* received, uint32_t row,
                              const struct span* span) {
  uint32_t group = ++thread->stamps.groups;
  bool receives = received->comm != 0;
  struct stamp* stamp = stamps_begin(thread, sent, span->begin);
  stamp_end(stamp, thread, receives ? NO_ROW : row, span, group, 1);
  stamp_end(stamps_begin(thread, received, span->begin), thread, row, span, group, 1);
}

// Remembers what a request moves.
static inline void remember(struct thread* thread, MPI_Request handle, enum function function,
                            struct facts facts, const struct target* target, uint64_t entry,
                            bool receives, bool persistent) {
  struct stamp* stamp = persistent ? NULL : stamps_begin(thread, target, entry);
  if (handle == MPI_REQUEST_NULL) return;
  facts.operation = (uint16_t)function;
  struct request request = {.handle = (uint64_t)handle,
                            .facts = facts,
                            .target = *target,
                            .stamp = stamp,
                            .receives = receives,
                            .persistent = persistent,
                            .active = !persistent};
  requests_add(&request);
}

// Replaces what was posted by what arrived.
static inline void read_arrival(struct facts* facts, const struct group_facts* group,
                                const MPI_Status* status) {
  int bytes = 0;
  if (!status || facts->peer == PEER_NULL) return;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  if (bytes >= 0) facts->bytes = (uint64_t)bytes;
  if (facts->peer == PEER_ANY && group) facts->peer = peers_class(group, status->MPI_SOURCE);
}

static inline uint64_t handle_of(MPI_Request request) {
  return request == MPI_REQUEST_NULL ? 0 : (uint64_t)request;
}

static inline void synchronize(struct thread* thread, enum function function, MPI_Comm comm) {
  const struct group_facts* group = peers_of_comm(thread, comm);
  struct facts facts = {.operation = (uint16_t)function,
                        .comm_size = group ? (uint32_t)group->size : 0,
                        .peer = group ? group->span : PEER_ANY};
  struct span span = {.begin = clock_ticks()};
  PMPI_Barrier(comm);
  span.ticks = clock_ticks() - span.begin;
  uint32_t row = count_call(thread, FUNCTION_SYNC, &facts, span.ticks);
  struct target target = collective_target(group, STAMP_ALL, 0);
  stamp_call(thread, &target, row, &span);
}

#endif
