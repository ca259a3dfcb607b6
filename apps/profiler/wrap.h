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

// Counts a call.
static inline void count_call(struct thread* thread, enum function function,
                              const struct facts* facts, uint64_t ticks) {
  profile_count(thread, function, ticks);
  table_add(&thread->table, function, facts, ticks);
}

// Remembers what a request moves.
static inline void remember(MPI_Request handle, enum function function, struct facts facts,
                            bool receives, bool persistent) {
  if (handle == MPI_REQUEST_NULL) return;
  facts.operation = (uint16_t)function;
  struct request request = {.handle = (uint64_t)handle,
                            .facts = facts,
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
  uint64_t begin = clock_ticks();
  PMPI_Barrier(comm);
  count_call(thread, FUNCTION_SYNC, &facts, clock_ticks() - begin);
}

#endif
