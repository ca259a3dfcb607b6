// SPDX-License-Identifier: Apache-2.0
//
// The reports of all processes of a node, added up. Per rank only its number, its processors and
// its CPU time remain. Traffic is summed by pair of addresses and by marked interval.
#ifndef FABRICBENCH_SUMS_H
#define FABRICBENCH_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/json.h"

enum { END_LENGTH = 64 };

// A process that is a rank.
struct process {
  uint64_t rank, cpu_us;
  char* cpus;
};

// One end of a connection, or with `ends` 2 both. Its bytes go from `local` to `peer` (tx) and
// back.
struct end {
  uint64_t inode, tx_bytes, rx_bytes, tx_segs, rx_segs, connections;
  unsigned ends;
  char local[END_LENGTH], peer[END_LENGTH];
};

// A marked interval, a printed line, a device file or a library. Intervals and lines have values:
// bytes and segments to addresses of this node, and to others. `count`: of the processes.
struct named {
  char* name;
  uint64_t count, values[4];
};

// An array that grows.
struct list {
  void* items;
  size_t count, capacity;
};

struct sums {
  bool failed;                                   // memory ran out: the sums are incomplete
  struct list processes;                         // of struct process
  struct list sockets;                           // of struct end
  struct list marks, lines, devices, libraries;  // of struct named
  uint64_t reports, cpu_us;
  uint64_t dropped_sockets, dropped_marks, udp_sockets, unix_sockets, shared_maps;
};

// Adds the report of one process, which apps/witness/plain.c wrote.
void sums_add(struct sums* sums, FILE* report);
// Writes "witness":{…}. Reorders and merges the sockets.
void sums_write(struct json* out, struct sums* sums);
void sums_free(struct sums* sums);

// Replaces the ends of connections by their sums for each pair of addresses, without ports.
void merge_sockets(struct list* sockets);

#endif
