// SPDX-License-Identifier: Apache-2.0
//
// The witness: preloaded into a process (`env LD_PRELOAD=libfabricbench_witness.so exe`), it says
// at the process's end which transport carried how many bytes to which peers, as one JSON file in
// the directory named by FABRICBENCH_WITNESS_DIR. Without that variable it does nothing. It knows
// no MPI: it asks the kernel about each TCP socket (TCP_INFO) when the socket is shut down or
// closed, or is still open at the end, and looks at device files, mapped libraries, shared memory,
// CPU time, and the processors that the process may run on.
//
// What is seen
// - TCP sockets, one entry per socket however often it was dup'ed, shut down and closed. Bytes are
//   payload that left for the first time (retransmissions taken off) and payload that arrived;
//   segments are those that carried data.
// - Connected UDP and AF_UNIX sockets (a count), transport device files (open at a close or at the
//   end), and at the end the transport libraries and the shared memory that are mapped.
// - A fork child tells only of sockets that it closed itself or that were open when it ended, and
//   writes nothing when there were none. A socket that parent and child both held stands in both
//   files under one inode: a reader takes the larger entry per host and inode.
//
// - Marks: a program that finds the function fabricbench_mark(begins, label) among its symbols may
//   call it around its iterations, outside the timed region. Each interval then has a sum of what
//   this process sent meanwhile, to addresses of this node and to others.
// - Flushes of stdout: a benchmark that prints and flushes a line for each size tells the sizes
//   apart without a mark. Each flush has the line, and what this process sent and received since
//   the flush before.
//
// What is not seen
// - A process that is killed, aborts, or is replaced by exec reports nothing: its peers have the
//   counts.
// - Bytes that were still in the send queue at the sample are not in tx_bytes: the peer's rx_bytes
//   has them. The peer's FIN may count as one received byte, as the kernel counts it.
// - Loads and stores to shared memory and copies between processes (process_vm_readv, xpmem, knem):
//   no call per message is interposed, so shared memory is known by exclusion. Components that
//   MPI_Finalize unloads, and segments that it unmaps, are gone by the end.
// - Sockets closed by close-on-exec or in a vfork child (the parent still has them), and processes
//   made by a bare clone().
#ifndef FABRICBENCH_WITNESS_H
#define FABRICBENCH_WITNESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json.h"
#include "common/sink.h"

#define EXPORT __attribute__((visibility("default")))  // interposed, or called by programs

// ---- sockets.c: the tables. Any thread may sample at any time, also inside a signal handler.

enum sample_reason { SAMPLE_SHUTDOWN, SAMPLE_CLOSE, SAMPLE_END, SAMPLE_MARK };

struct socket_totals {
  uint64_t tx_bytes, rx_bytes, tx_segs, rx_segs;
};

struct carried {
  uint64_t bytes, segs;
};

struct both_nodes {
  struct carried same_node, other_node;
};

struct socket_entry {
  uint64_t inode;
  char local[64], peer[64];  // "ip:port" or "[ip6]:port"; "" when the kernel does not tell
  struct socket_totals totals;
};

void sockets_sample(int fd, uint64_t inode, enum sample_reason reason);
// Starts from *cursor == 0; false at the end.
bool sockets_next(size_t* cursor, struct socket_entry* entry);
// Sockets that found the table full: counted at each of their closes, so an upper bound.
uint64_t sockets_dropped(struct socket_totals* totals);
// What all sockets have sent up to their latest sample, to addresses of this node and to others;
// `both_ways`: sent and received.
struct both_nodes sockets_carried(bool both_ways);
uint64_t sockets_udp(void);
uint64_t sockets_unix(void);
bool sockets_any_tcp(void);
void sockets_forget(void);

// ---- marks.c: what was carried between two marks of the program, and between two of its flushes
// of stdout. The main thread alone marks; any thread may print and flush.

enum { LABEL_LENGTH = 128 };

struct interval {
  char label[LABEL_LENGTH];
  struct both_nodes carried;
};

// What a program calls, found by name: begin (true) or end of the interval `label`. Of the main
// thread, not from a signal handler.
void fabricbench_mark(bool begins, const char* label);
void marks_set(bool begins, const char* label);
// Starts from *cursor == 0; null at the end.
const struct interval* marks_next(size_t* cursor);
// Text printed to a stdout without a buffer.
void lines_print(const char* text, size_t length);
// Before a flush of what stdout's buffer holds: ends an interval that began at the flush before,
// with the last line printed as its label. Nothing where nothing was printed.
void lines_flush(const char* buffered, size_t length);
const struct interval* lines_next(size_t* cursor);
// Begins that found the table full or the label too long.
uint64_t marks_dropped(void);
void marks_forget(void);

// ---- traces.c: device files, mapped libraries, shared memory.

enum { NAME_LENGTH = 96, NAME_LIMIT = 96 };

struct name_list {  // sorted, each name once
  size_t count;
  char names[NAME_LIMIT][NAME_LENGTH];
};

struct shared_maps {
  uint64_t count, bytes;
};

void traces_device(int fd);  // of a character device: remembers it if it belongs to a transport
void traces_devices(struct name_list* list);
void traces_maps(struct name_list* libraries, struct shared_maps* maps);
void traces_forget(void);

// ---- cpus.c: where the process may run, and what it used.

void cpus_remember(void);  // where it may run now, at its start
// ,"cpus":"0-3,8","cpus_at_end":null,"cpu_seconds":1.500000: those at the end where they differ.
void cpus_fields(struct json* out);

// ---- interpose.c: the process, and what is interposed.

struct witness_process {
  bool active;  // FABRICBENCH_WITNESS_DIR is set and usable as a name
  bool forked;
  int pid;
  int64_t rank, world_size;  // -1: unknown
  char directory[PATH_MAX];
};

extern struct witness_process witness_process;
void witness_sample(int fd, enum sample_reason reason);
// Every open descriptor from first to last.
void witness_sample_range(unsigned first, unsigned last, enum sample_reason reason);

// ---- report.c

void witness_report(const char* ended);  // once per process; later calls wait for the first one
void witness_report_forget(void);

#endif
