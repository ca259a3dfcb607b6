// SPDX-License-Identifier: Apache-2.0
//
// One clock for all nodes: that of the node of rank 0. The ranks of a node share its clock. The
// first rank of each other node exchanges messages with rank 0 at the start and at the end. The
// round trip that takes least gives the offset, and half of it the largest error of the offset.
// In between the offset is linear.
#include <stdlib.h>

#include "profiler/profiler.h"

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

static void answer(void) {
  for (int i = 0; i < ROUND_TRIPS; i++) {
    uint64_t ticks;
    PMPI_Recv(&ticks, 1, MPI_UINT64_T, 0, 0, leaders, MPI_STATUS_IGNORE);
    ticks = clock_ticks();
    PMPI_Send(&ticks, 1, MPI_UINT64_T, 0, 0, leaders);
  }
}

void clocks_start(void) {
#ifndef FABRICBENCH_PROFILER_SMPI  // all simulated hosts have one clock
  if (!profile.several_nodes || !stamps_enabled()) return;
  int on_node;
  PMPI_Comm_rank(profile.node, &on_node);
  PMPI_Comm_split(MPI_COMM_WORLD, on_node == 0 ? 0 : MPI_UNDEFINED, profile.rank, &leaders);
  if (leaders == MPI_COMM_NULL) return;
  PMPI_Comm_rank(leaders, &leader);
  PMPI_Comm_size(leaders, &nodes);
  if (leader != 0) {
    answer();
    return;
  }
  first = calloc((size_t)nodes, sizeof *first);
  if (!first) abort();
  for (int node = 1; node < nodes; node++) first[node] = read_clock(node);
#endif
}

enum { BEGIN_HERE, BEGIN_THERE, END_HERE, END_THERE, ERROR, NUMBERS };

static void send_readings(int node, int64_t* largest, int64_t* second) {
  struct reading last = read_clock(node);
  int64_t numbers[NUMBERS] = {clock_nanoseconds_at(first[node].here), (int64_t)first[node].there,
                              clock_nanoseconds_at(last.here), (int64_t)last.there};
  uint64_t round_trip =
      last.round_trip > first[node].round_trip ? last.round_trip : first[node].round_trip;
  numbers[ERROR] = clock_nanoseconds_at(last.here + round_trip / 2) - numbers[END_HERE];
  PMPI_Send(numbers, NUMBERS, MPI_INT64_T, node, 1, leaders);
  if (numbers[ERROR] > *largest) {
    *second = *largest;
    *largest = numbers[ERROR];
  } else if (numbers[ERROR] > *second) {
    *second = numbers[ERROR];
  }
}

static void receive_readings(void) {
  int64_t numbers[NUMBERS];
  PMPI_Recv(numbers, NUMBERS, MPI_INT64_T, 0, 1, leaders, MPI_STATUS_IGNORE);
  own.begin = clock_nanoseconds_at((uint64_t)numbers[BEGIN_THERE]);
  own.end = clock_nanoseconds_at((uint64_t)numbers[END_THERE]);
  own.at_begin = own.begin - numbers[BEGIN_HERE];
  own.at_end = own.end - numbers[END_HERE];
}

void clocks_finish(void) {
  int64_t largest = 0, second = 0;
  if (!profile.several_nodes || !stamps_enabled()) return;
#ifndef FABRICBENCH_PROFILER_SMPI
  if (leader == 0)
    for (int node = 1; node < nodes; node++) send_readings(node, &largest, &second);
  if (leader != MPI_UNDEFINED && leader > 0) {
    answer();
    receive_readings();
  }
  own.error = largest + second;
  PMPI_Bcast(&own, (int)sizeof own, MPI_BYTE, 0, profile.node);
  PMPI_Allreduce(&own.error, &largest_error, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  if (leaders != MPI_COMM_NULL) PMPI_Comm_free(&leaders);
  free(first);
#else
  (void)largest, (void)second, (void)send_readings, (void)receive_readings, (void)answer;
#endif
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
