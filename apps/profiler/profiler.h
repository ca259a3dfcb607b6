// SPDX-License-Identifier: Apache-2.0
//
// The profiler is a library that is preloaded into an MPI program
// (`env LD_PRELOAD=libfabricbench_profiler.so FABRICBENCH_PROFILE=DIRECTORY exe`) or linked to it.
// It wraps every function of MPI 3.1 that moves data or waits, in C and Fortran, and writes TAU's
// profile format when MPI_Finalize begins. Without the variable it does nothing.
//
// Environment
// - FABRICBENCH_PROFILE=DIRECTORY: one file per node, profile.HOST.txt. It holds the profiles of
//   the node's ranks and threads, each after a line `# profile.RANK.0.THREAD`.
// - FABRICBENCH_PROFILE_FORMAT=tau: one file per rank and thread, profile.RANK.0.THREAD, instead.
// - FABRICBENCH_PROFILE_STAMPS=N: at most N operations of a process have time stamps, 64 bytes
// each.
//   Default 1000000; 0: none.
// - FABRICBENCH_PROFILE_SYNC=1: a barrier before each blocking collective. Its time is in the timer
//   `MPI Collective Sync`, as in TAU. It changes the program's timing, so it is off by default.
//
// Timers of a profile, times in microseconds
// - `.TAU application`: from the load of the library to the start of MPI_Finalize.
// - `measured region`: the time between MPI_Pcontrol(1) and MPI_Pcontrol(0). TAU's MPI wrapper
//   ignores MPI_Pcontrol. Without such calls the measured region is the whole program.
// - `MPI_Send()  `: all calls of a function, named as TAU names them, group MPI.
// - `MPI_Send()   [ <message size> = <4096> ]  `: the calls of one message size, named as TAU's
//   PROFILEPARAM names them, group TAU_PARAM. Receives count the bytes that arrived if the status
//   is known, else the bytes that were posted.
// - `MPI_Send()   [ <message size> = <4096> <peer> = <same node> … ]  `: the same calls again,
//   split by all keys: operation, peer, communicator size, role (root), region (1). TAU writes
//   several keys into one pair of brackets, too (TAU_EXP_TRACK_COMM).
//   A key that does not apply is left out.
// - The key `operation` names the function that started what this call completes or activates
//   (MPI_Wait*, MPI_Test*, MPI_Start*). The time of the call is divided equally between these
//   operations. In such rows the number of calls is the number of operations.
//
// After 256 different message sizes of one function, further sizes fall into bins, named
// `<message size> = <4096-8191>`. The user event `Message size : MPI_Send()   [ … ]` of a bin has
// its exact count, maximum, minimum, mean and sum of squares. The other user events have TAU's
// names.
//
// The profile does not contain
// - The time in MPI_Finalize: it is written before. A program that ends without MPI_Finalize leaves
//   no file.
// - Calls from inside MPI functions, for example by callbacks.
// - Functions of MPI 4 (metadata `Unprofiled MPI Functions`).
#ifndef FABRICBENCH_PROFILER_H
#define FABRICBENCH_PROFILER_H

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/clock.h"
#include "profiler/functions.h"  // generated: enum function, FUNCTION_COUNT
#include "profiler/stamps.h"

#define EXPORT __attribute__((visibility("default")))

// ---- table.c: what is counted

enum peer { PEER_ABSENT, PEER_SELF, PEER_SAME_NODE, PEER_OTHER_NODE, PEER_ANY, PEER_NULL };

// What one call moved. `operation` is the function that started a completed operation.
struct facts {
  uint64_t bytes;
  uint32_t comm_size;  // 0: unknown
  uint16_t operation;  // FUNCTION_NONE: the call itself
  uint8_t peer;
  bool sized, root;
};

struct event {  // a user event
  uint64_t count, min, max, sum;
  double squares;
};

struct record {
  uint64_t bytes, rest;  // the key; rest == 0: an empty slot
  uint64_t calls, ticks;
  struct event bin;     // the exact sizes, of bins only
  uint32_t row;         // number of the record in its table
  struct value shares;  // of completed operations: of the calls that completed them
};

struct total {
  uint64_t calls, ticks;
};

struct sizes {  // the different sizes of each function, an open-addressing set
  uint64_t* slots;
  size_t capacity, used;
  uint16_t count[FUNCTION_COUNT];
};

struct table {
  struct record* records;
  size_t capacity, used;
  struct sizes sizes;
  struct event received;                   // by MPI_Sendrecv, whose message size is what it sends
  struct total totals[FUNCTION_COUNT][2];  // [function][in the measured region]
};

enum { TYPE_SLOTS = 256, GROUP_SLOTS = 64 };

struct group_facts;  // peers.c

// One thread of the program. It stays after the thread has ended.
struct thread {
  int inside;  // a wrapper of this thread is active: nested calls are not counted
  int number;
  uint64_t begin;  // ticks
  struct table table;
  struct stamp_list stamps;
  struct match** matches;  // by row; null: no matched operations
  int64_t* waits;          // by group of stamps: the longest wait for a partner, ns
  uint64_t* handles;       // the requests of the current call
  MPI_Status* statuses;
  size_t handle_capacity, status_capacity;
  int hidden;                     // requests of the current call that inject.c withholds
  int probed_source, probed_tag;  // of the message that inject.c probed last
  struct {
    uint64_t handle, size;
    unsigned generation;
  } types[TYPE_SLOTS];
  struct {
    uint64_t handle;
    const struct group_facts* group;
    unsigned generation;
  } groups[GROUP_SLOTS];
  struct thread* next;
};

// Returns the number of the row, which stays the same.
uint32_t table_add(struct table* table, enum function function, const struct facts* facts,
                   uint64_t ticks);
// The same for one of several operations that a call completes together.
uint32_t table_add_share(struct table* table, enum function function, const struct facts* facts,
                         uint64_t ticks, int together);
void table_clear(struct table* table);
void event_add(struct event* event, uint64_t bytes, uint64_t count);

// The parts of a record's key.
enum function record_function(const struct record* record);
enum function record_operation(const struct record* record);
enum peer record_peer(const struct record* record);
uint32_t record_comm_size(const struct record* record);
bool record_sized(const struct record* record);
bool record_binned(const struct record* record);
bool record_root(const struct record* record);
bool record_in_region(const struct record* record);

// ---- state.c

struct profile {
  volatile bool active;  // between MPI_Init and MPI_Finalize, if it profiles or injects
  bool sync, tau_files, multiple, several_nodes;
  volatile bool in_region;
  bool region_marked;
  int rank, size, node_ranks, thread_level;
  MPI_Comm node;
  struct thread* volatile threads;
  uint64_t begin, end, region_begin, region_ticks, region_calls;  // ticks
  double overhead_ns;                                             // of one call
  uint64_t start_ticks;                                           // in profile_start
  char directory[4096], host[256];
};

extern struct profile profile;

// Returns the thread's table, or null if the call is not to be counted.
struct thread* profile_enter(void);
// Around MPI_Init: 1 before, -1 after. Returns whether the call is the outermost one: a Fortran
// binding may call the C function.
bool profile_starting(int change);
void profile_start(enum function function, uint64_t ticks);  // after MPI_Init
void profile_finish(enum function function);                 // before MPI_Finalize
void profile_region(int level);

static inline void profile_leave(struct thread* thread) {
  thread->inside = 0;
}

static inline void profile_count(struct thread* thread, enum function function, uint64_t ticks) {
  struct total* total = &thread->table.totals[function][profile.in_region];
  total->calls++;
  total->ticks += ticks;
}

// ---- peers.c: what is known about communicators, windows and datatypes, cached by handle

struct group_facts {
  uint64_t handle;
  uint32_t comm;          // its number in comms.c; 0: no time stamps
  int size, peers, self;  // peers: the remote size of an intercommunicator
  int in_degree, out_degree;
  uint8_t span;  // PEER_SAME_NODE if all ranks are on this node
  struct group_facts* next;
  uint8_t classes[];  // per peer
};

void peers_start(void);  // collective over MPI_COMM_WORLD
const struct group_facts* peers_of_comm(struct thread* thread, MPI_Comm comm);
const struct group_facts* peers_of_win(struct thread* thread, MPI_Win win);
// Gives a new communicator its number.
void peers_new_comm(struct thread* thread, MPI_Comm comm);
uint8_t peers_class(const struct group_facts* group, int rank);
uint64_t type_bytes(struct thread* thread, MPI_Datatype type);
// Handles may be used again after a free.
void peers_forget(uint64_t handle);

// ---- requests.c: what nonblocking operations move, by request

struct request {
  uint64_t handle;  // 0: an empty slot
  struct facts facts;
  struct target target;
  struct stamp* stamp;  // of the active operation; null: none
  bool receives, persistent, active;
};

void requests_add(const struct request* request);
// Removes one request with the handle, or ends the activity of a persistent one. Returns false if
// there is none.
bool requests_complete(uint64_t handle, struct request* request);
// Begins the activity of a persistent request, with a time stamp.
bool requests_activate(uint64_t handle, struct thread* thread, uint64_t entry,
                       struct request* request);
bool requests_receives(uint64_t handle);
void requests_free(uint64_t handle);
// Before MPI_Cancel: until a status is read it is unknown whether the operation takes place.
void requests_cancel(uint64_t handle);

// ---- complete.c: calls that complete or activate requests

struct completion {
  enum function function;
  int count;                   // of handles before the call
  int completed;               // of `indices`; -1: all
  const int* indices;          // null: the first `completed` handles
  int first_index;             // 1 in Fortran
  const MPI_Status* statuses;  // null: unknown
  uint64_t begin, ticks;
};

uint64_t* complete_handles(struct thread* thread, int count);
MPI_Status* complete_statuses(struct thread* thread, int count);
void complete_book(struct thread* thread, const struct completion* completion);
void activate_book(struct thread* thread, enum function function, int count, uint64_t begin,
                   uint64_t ticks);

// ---- symbols.c, text.c, write.c

// Writes the names of MPI functions that the program imports and functions.txt lacks, sorted.
void symbols_unknown(char* names, size_t size);
struct text {  // grows; allocated
  char* bytes;
  size_t used, capacity;
};

__attribute__((format(printf, 2, 3))) void text_add(struct text* text, const char* format, ...);
// Writes the timers and user events of one thread in TAU's format.
void text_of_thread(struct text* text, const struct thread* thread, double microseconds_per_tick);
void text_of_metadata(struct text* text);
void text_of_events(struct text* text, const struct thread* thread);
// The name of a bin of message sizes, "4096-8191", or of one size.
void text_of_name(struct text* text, const struct record* record, bool all_keys);
// Collective over the node's ranks: writes the profiles.
void write_profiles(void);

#endif
