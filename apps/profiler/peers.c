// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/profiler.h"

static uint64_t* hosts;  // hash of the host name of each rank of MPI_COMM_WORLD
static MPI_Group world;
static struct group_facts* known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned generation = 1;  // entries of older generations are invalid

static uint64_t hash_name(const char* text) {  // FNV-1a
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
  return hash;
}

// Nodes are told apart by host name: MPICH's MPI_Comm_split_type reports one node per rank if
// shared memory is switched off (MPIR_CVAR_NOLOCAL).
void peers_start(void) {
  uint64_t own = hash_name(profile.host);
  hosts = malloc((size_t)profile.size * sizeof *hosts);
  if (!hosts) abort();
  PMPI_Allgather(&own, 1, MPI_UINT64_T, hosts, 1, MPI_UINT64_T, MPI_COMM_WORLD);
  int leader = 0;
  while (hosts[leader] != own) leader++;
  PMPI_Comm_split(MPI_COMM_WORLD, leader, profile.rank, &profile.node);
  PMPI_Comm_size(profile.node, &profile.node_ranks);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  comms_start();
  for (int i = 0; i < profile.size; i++)
    if (hosts[i] != own) profile.several_nodes = true;
}

static uint8_t class_of_world(int rank) {
  if (rank < 0) return PEER_ANY;  // of another MPI_COMM_WORLD
  if (rank == profile.rank) return PEER_SELF;
  return hosts[rank] == hosts[profile.rank] ? PEER_SAME_NODE : PEER_OTHER_NODE;
}

static void classify(struct group_facts* facts, MPI_Group group) {
  size_t count = (size_t)facts->peers;
  int* ranks = calloc(2 * count, sizeof *ranks);
  if (!ranks) abort();
  for (int i = 0; i < facts->peers; i++) ranks[i] = i;
  PMPI_Group_translate_ranks(group, facts->peers, ranks, world, ranks + count);
  facts->span = PEER_SELF;
  for (size_t i = 0; i < count; i++) {
    uint8_t class = class_of_world(ranks[count + i]);
    facts->classes[i] = class;
    if (class > facts->span) facts->span = class;
  }
  free(ranks);
}

static void count_neighbors(struct group_facts* facts, MPI_Comm comm) {
#ifdef FABRICBENCH_PROFILER_SMPI
  (void)facts;
  (void)comm;  // SimGrid has no neighbourhood collectives
#else
  int topology = MPI_UNDEFINED, weighted, dimensions;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    PMPI_Cartdim_get(comm, &dimensions);
    facts->in_degree = facts->out_degree = 2 * dimensions;
  } else if (topology == MPI_GRAPH) {
    PMPI_Graph_neighbors_count(comm, facts->self, &facts->in_degree);
    facts->out_degree = facts->in_degree;
  } else if (topology == MPI_DIST_GRAPH) {
    PMPI_Dist_graph_neighbors_count(comm, &facts->in_degree, &facts->out_degree, &weighted);
  }
#endif
}

static struct group_facts* facts_of(MPI_Group group) {
  int peers;
  PMPI_Group_size(group, &peers);
  struct group_facts* facts = calloc(1, sizeof *facts + (size_t)peers);
  if (!facts) abort();
  facts->size = facts->peers = peers;
  PMPI_Group_rank(group, &facts->self);
  classify(facts, group);
  return facts;
}

static struct group_facts* read_comm(MPI_Comm comm) {
  int inter, size, self;
  MPI_Group group;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_size(comm, &size);
  PMPI_Comm_rank(comm, &self);
  if (inter)
    PMPI_Comm_remote_group(comm, &group);
  else
    PMPI_Comm_group(comm, &group);
  struct group_facts* facts = facts_of(group);
  PMPI_Group_free(&group);
  facts->size = size;
  facts->self = inter ? MPI_UNDEFINED : self;
  if (!inter) count_neighbors(facts, comm);
  return facts;
}

static struct group_facts* read_win(MPI_Win win) {
  MPI_Group group;
  PMPI_Win_get_group(win, &group);
  struct group_facts* facts = facts_of(group);
  PMPI_Group_free(&group);
  return facts;
}

static const struct group_facts* look_up(struct thread* thread, uint64_t handle, MPI_Comm comm,
                                         const MPI_Win* win) {
  size_t slot = (size_t)((handle ^ (handle >> 4) ^ (handle >> 12)) % GROUP_SLOTS);
  if (thread->groups[slot].handle == handle && thread->groups[slot].generation == generation)
    return thread->groups[slot].group;
  pthread_mutex_lock(&lock);
  struct group_facts* facts = known;
  while (facts && facts->handle != handle) facts = facts->next;
  if (!facts) {
    facts = win ? read_win(*win) : read_comm(comm);
    if (!win && comm == MPI_COMM_WORLD) facts->comm = COMM_WORLD;
    if (!win && comm == MPI_COMM_SELF) facts->comm = COMM_SELF;
    facts->handle = handle;
    facts->next = known;
    known = facts;
  }
  thread->groups[slot].handle = handle;
  thread->groups[slot].group = facts;
  thread->groups[slot].generation = generation;
  pthread_mutex_unlock(&lock);
  return facts;
}

const struct group_facts* peers_of_comm(struct thread* thread, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return NULL;
  return look_up(thread, (uint64_t)comm, comm, NULL);
}

void peers_new_comm(struct thread* thread, MPI_Comm comm) {
  int inter;
  if (comm == MPI_COMM_NULL) return;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter) return;
  MPI_Group group;
  PMPI_Comm_group(comm, &group);
  int size, self;
  PMPI_Group_size(group, &size);
  PMPI_Group_rank(group, &self);
  int* ranks = calloc(2 * (size_t)size + 1, sizeof *ranks);
  if (!ranks) abort();
  for (int i = 0; i < size; i++) ranks[i] = i;
  PMPI_Group_translate_ranks(group, size, ranks, world, ranks + size);
  uint32_t number = comms_add(thread, ranks + size, size, self);
  free(ranks);
  PMPI_Group_free(&group);
  peers_forget((uint64_t)comm);
  pthread_mutex_lock(&lock);
  struct group_facts* facts = read_comm(comm);
  facts->handle = (uint64_t)comm;
  facts->comm = number;
  facts->next = known;
  known = facts;
  pthread_mutex_unlock(&lock);
}

const struct group_facts* peers_of_win(struct thread* thread, MPI_Win win) {
  if (win == MPI_WIN_NULL) return NULL;
  return look_up(thread, (uint64_t)win, MPI_COMM_NULL, &win);
}

uint8_t peers_class(const struct group_facts* group, int rank) {
  if (rank == MPI_PROC_NULL) return PEER_NULL;
  if (!group || rank < 0 || rank >= group->peers) return PEER_ANY;
  return group->classes[rank];
}

void peers_forget(uint64_t handle) {
  if (!profile.active) return;
  pthread_mutex_lock(&lock);
  for (struct group_facts** at = &known; *at; at = &(*at)->next)
    if ((*at)->handle == handle) {
      struct group_facts* old = *at;
      *at = old->next;
      if (!profile.multiple) free(old);  // another thread may still read it
      break;
    }
  generation++;
  pthread_mutex_unlock(&lock);
}

uint64_t type_bytes(struct thread* thread, MPI_Datatype type) {
  uint64_t handle = (uint64_t)type;
  size_t slot = (size_t)((handle ^ (handle >> 7)) % TYPE_SLOTS);
  if (thread->types[slot].handle == handle && thread->types[slot].generation == generation)
    return thread->types[slot].size;
  if (type == MPI_DATATYPE_NULL) return 0;
  int size = 0;
  PMPI_Type_size(type, &size);
  thread->types[slot].handle = handle;
  thread->types[slot].size = size > 0 ? (uint64_t)size : 0;
  thread->types[slot].generation = generation;
  return thread->types[slot].size;
}
