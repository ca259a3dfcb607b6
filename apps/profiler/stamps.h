// SPDX-License-Identifier: Apache-2.0
//
// Time stamps of operations. Each thread records when its operations began and when the calls that
// completed them began and ended. MPI_Finalize exchanges the stamps and finds the partner of each
// operation (match.c).
#ifndef FABRICBENCH_PROFILER_STAMPS_H
#define FABRICBENCH_PROFILER_STAMPS_H

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

// What an operation waits for: the other side of a message, all ranks, the root, or (root of a
// reduction) all ranks while the other ranks wait for none.
enum stamp_kind { STAMP_SEND, STAMP_RECEIVE, STAMP_ALL, STAMP_FROM_ROOT, STAMP_TO_ROOT };

// What an operation is matched by. `comm`: number of the communicator, 0: the operation has no
// stamp. `peer`: rank in the communicator of the other side or of the root. `tag`: of a message; of
// a collective, its number in the communicator.
struct target {
  uint32_t comm;
  int32_t peer, tag;
  uint8_t kind;
};

enum { NO_ROW = UINT32_MAX };

struct stamp {
  int64_t entry;          // ticks when the operation began; later: when its partner's began, in ns
  int64_t call, end;      // ticks around the call that completed it; later ns
  struct thread* thread;  // that completed it; null: nothing completed it
  struct target target;
  uint32_t row;       // of the thread's table; NO_ROW: no row of its own
  uint32_t group;     // calls that completed several stamps, counted from 1; 0: others
  uint32_t together;  // number of operations that the call completed
  bool cancelled;
  bool uncertain;  // after MPI_Cancel, if no status says whether the operation was cancelled
};

enum { STAMPS_PER_CHUNK = 1024 };

struct stamp_chunk {
  struct stamp_chunk* next;
  uint32_t used, size;
  struct stamp stamps[STAMPS_PER_CHUNK];
};

// The stamps of the operations that a thread began, in this order.
struct stamp_list {
  struct stamp_chunk *first, *last;
  uint32_t groups;
};

void stamps_start(void);  // collective over MPI_COMM_WORLD; reads the environment
bool stamps_enabled(void);
bool stamps_exhausted(void);  // further operations have no stamps
uint64_t stamps_limit(void);

// Records when an operation was entered. Returns null if its communicator is unknown or the limit
// of time stamps is reached.
struct stamp* stamps_begin(struct thread* thread, const struct target* target, uint64_t entry);
void stamps_clear(struct thread* thread);

// ---- comms.c: communicators by what all their ranks know

struct comm {
  uint64_t key;    // the same on all ranks of the communicator
  uint64_t group;  // hash of its ranks
  int size, self;
  const int* ranks;  // in MPI_COMM_WORLD
  uint32_t order;    // among communicators of these ranks
  uint32_t collectives;
  uint32_t previous;             // in the same bucket
  const struct thread* creator;  // null: MPI_Init
  bool ambiguous;
  // By STAMP_SEND and STAMP_RECEIVE, ns: from this operation on the order is unknown.
  int64_t lost[2];
};

enum { COMM_WORLD = 1, COMM_SELF = 2 };

void comms_start(void);
// Returns the number of a new communicator. 0: its ranks are not all in MPI_COMM_WORLD, or there
// are too many communicators.
uint32_t comms_add(const struct thread* creator, const int* ranks, int size, int self);
struct comm* comms_at(uint32_t number);

// ---- clocks.c: one clock for all nodes

void clocks_start(void);  // collective over MPI_COMM_WORLD
void clocks_finish(void);
int64_t clocks_common(uint64_t ticks);  // nanoseconds; after clocks_finish
int64_t clocks_error(void);             // nanoseconds between any two nodes

// ---- match.c, partners.c

struct value {  // a user event of times
  uint64_t count;
  double min, max, sum, squares;
};

void value_add(struct value* value, double number);

enum { HEAD_STARTS = 48 };

struct match {  // the matched operations of one row, microseconds
  struct value late, heads[HEAD_STARTS];
};

// Collective over MPI_COMM_WORLD: matches the stamps of all ranks.
void stamps_match(void);
const char* stamps_state(void);  // for the metadata

#endif
