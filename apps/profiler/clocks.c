// SPDX-License-Identifier: Apache-2.0
//
// One clock for all nodes: that of the node of rank 0. The ranks of a node share its clock. The
// first rank of each other node exchanges messages with rank 0 at the start and at the end. The
// round trip that takes least gives the offset, and half of it the largest error of the offset.
// In between the offset is linear. Nodes that run on one kernel, such as namespaces, share its
// clock: their offset is 0, unless the round trips contradict that.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/profiler.h"

#ifdef FABRICBENCH_PROFILER_SMPI  // all simulated hosts have one clock

void clocks_start(void) {}

void clocks_finish(void) {}

int64_t clocks_common(uint64_t ticks) {
  return clock_nanoseconds_at(ticks);
}

int64_t clocks_error(void) {
  return 0;
}

#else

enum { ROUND_TRIPS = 30 };

struct reading {  // both clocks at one time, ticks
  uint64_t here, there, round_trip;
};

struct offset {
  int64_t begin, end;               // nanoseconds of the own clock
  int64_t at_begin, at_end, error;  // nanoseconds
};

static MPI_Comm leaders = MPI_COMM_NULL;  // the first rank of each node
static int leader = MPI_UNDEFINED, nodes = 1;
static struct reading* first;  // of rank 0, by leader
static uint64_t* kernels;      // of rank 0, by leader
static struct offset own;
static int64_t largest_error;

// Rank 0: the round trip to the leader of a node that takes least.
static struct reading read_clock(int node) {
  struct reading best = {.round_trip = UINT64_MAX};
  for (int i = 0; i < ROUND_TRIPS; i++) {
    uint64_t there = 0, begin = clock_ticks();
    PMPI_Send(&begin, 1, MPI_UINT64_T, node, 0, leaders);
    PMPI_Recv(&there, 1, MPI_UINT64_T, node, 0, leaders, MPI_STATUS_IGNORE);
    uint64_t round_trip = clock_ticks() - begin;
    if (round_trip < best.round_trip)
      best = (struct reading){begin + round_trip / 2, there, round_trip};
  }
  return best;
}

static uint64_t hash_text(uint64_t hash, const char* text, ssize_t length) {
  for (ssize_t i = 0; i < length; i++)
    hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001B3);
  return hash;
}

// Returns a hash of the running kernel and its view of time; 0 if it is unknown.
static uint64_t kernel(void) {
  char boot[64], view[64];
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t length = fd >= 0 ? read(fd, boot, sizeof boot) : 0;
  if (fd >= 0) close(fd);
  if (length <= 0) return 0;
  return hash_text(hash_text(1, boot, length), view,
                   readlink("/proc/self/ns/time", view, sizeof view));
}

static void answer(void) {
  for (int i = 0; i < ROUND_TRIPS; i++) {
    uint64_t ticks;
    PMPI_Recv(&ticks, 1, MPI_UINT64_T, 0, 0, leaders, MPI_STATUS_IGNORE);
    ticks = clock_ticks();
    PMPI_Send(&ticks, 1, MPI_UINT64_T, 0, 0, leaders);
  }
}

void clocks_start(void) {
  if (!profile.several_nodes || !stamps_enabled()) return;
  int on_node;
  PMPI_Comm_rank(profile.node, &on_node);
  PMPI_Comm_split(MPI_COMM_WORLD, on_node == 0 ? 0 : MPI_UNDEFINED, profile.rank, &leaders);
  if (leaders == MPI_COMM_NULL) return;
  PMPI_Comm_rank(leaders, &leader);
  PMPI_Comm_size(leaders, &nodes);
  uint64_t own_kernel = kernel();
  if (leader == 0) {
    first = calloc((size_t)nodes, sizeof *first);
    kernels = calloc((size_t)nodes, sizeof *kernels);
    if (!first || !kernels) abort();
  }
  PMPI_Gather(&own_kernel, 1, MPI_UINT64_T, kernels, 1, MPI_UINT64_T, 0, leaders);
  if (leader != 0) {
    answer();
    return;
  }
  for (int node = 1; node < nodes; node++) first[node] = read_clock(node);
}

enum { BEGIN_HERE, BEGIN_THERE, END_HERE, END_THERE, ERROR, ONE_KERNEL, NUMBERS };

static void send_readings(int node) {
  struct reading begin = first[node], end = read_clock(node);
  uint64_t round_trip = end.round_trip > begin.round_trip ? end.round_trip : begin.round_trip;
  int64_t end_here = clock_nanoseconds_at(end.here),
          error = clock_nanoseconds_at(end.here + round_trip / 2) - end_here;
  bool one_kernel = kernels[0] && kernels[node] == kernels[0];
  int64_t numbers[NUMBERS] = {clock_nanoseconds_at(begin.here),
                              (int64_t)begin.there,
                              end_here,
                              (int64_t)end.there,
                              error,
                              one_kernel};
  PMPI_Send(numbers, NUMBERS, MPI_INT64_T, node, 1, leaders);
}

static void receive_readings(void) {
  int64_t numbers[NUMBERS];
  PMPI_Recv(numbers, NUMBERS, MPI_INT64_T, 0, 1, leaders, MPI_STATUS_IGNORE);
  own.begin = clock_nanoseconds_at((uint64_t)numbers[BEGIN_THERE]);
  own.end = clock_nanoseconds_at((uint64_t)numbers[END_THERE]);
  own.at_begin = own.begin - numbers[BEGIN_HERE];
  own.at_end = own.end - numbers[END_HERE];
  own.error = numbers[ERROR];
  if (numbers[ONE_KERNEL] && llabs(own.at_begin) <= own.error && llabs(own.at_end) <= own.error)
    own = (struct offset){0};
}

void clocks_finish(void) {
  if (!profile.several_nodes || !stamps_enabled()) return;
  if (leader == 0)
    for (int node = 1; node < nodes; node++) send_readings(node);
  if (leader != MPI_UNDEFINED && leader > 0) {
    answer();
    receive_readings();
  }
  PMPI_Bcast(&own, (int)sizeof own, MPI_BYTE, 0, profile.node);
  PMPI_Allreduce(&own.error, &largest_error, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  PMPI_Bcast(&nodes, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (nodes > 2) largest_error *= 2;  // of two nodes against each other
  if (leaders != MPI_COMM_NULL) PMPI_Comm_free(&leaders);
  free(first);
  free(kernels);
}

int64_t clocks_common(uint64_t ticks) {
  int64_t time = clock_nanoseconds_at(ticks);
  if (own.end <= own.begin) return time - own.at_begin;
  double part = (double)(time - own.begin) / (double)(own.end - own.begin);
  return time - own.at_begin - (int64_t)(part * (double)(own.at_end - own.at_begin));
}

int64_t clocks_error(void) {
  return largest_error;
}

#endif
