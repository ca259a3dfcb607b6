// SPDX-License-Identifier: Apache-2.0
//
// The witness is a library that is preloaded into a process
// (`env LD_PRELOAD=libfabricbench_witness.so exe`). At the end of the process it writes one JSON
// file into the directory FABRICBENCH_WITNESS_DIR: how many bytes each transport carried to which
// peers. Without that variable it does nothing. It does not use MPI. It reads the kernel's counters
// of each TCP socket (TCP_INFO) when the socket is shut down or closed and at the end of the
// process, and it lists device files, mapped libraries, shared memory, CPU time and the processors
// on which the process may run. With FABRICBENCH_WITNESS_PLAIN it writes lines of words in place of
// JSON, for fabricbench-node, which adds up the reports of a node.
//
// The report contains
// - TCP sockets, one entry for each socket however often it was duplicated, shut down and closed.
//   Bytes are payload: sent for the first time (without retransmissions), and received. Segments
//   are those with data.
// - The number of connected UDP and AF_UNIX sockets, the transport device files that were open at a
//   close or at the end, and the transport libraries and shared memory that are mapped at the end.
// - Marked intervals: a program that finds the function fabricbench_mark(begins, label) may call it
//   around its iterations, outside the timed region. Each interval has the sum of what this process
//   sent in it, to addresses of this node and of other nodes.
// - Lines: each flush of stdout ends an interval, labelled by the last printed line. A benchmark
//   that flushes a line for each size has one interval for each size without marks. An interval has
//   the sum of what this process sent and received since the previous flush.
// - A fork child reports only sockets that it closed or that were open at its end, and writes no
//   file if there were none. A socket of both parent and child is in both files under one inode: a
//   reader takes the larger entry for each host and inode.
//
// The report does not contain
// - Processes that are killed, abort, or are replaced by exec: their peers have the counts.
// - Bytes in the send queue at the time of the sample: they are in the peer's rx_bytes, not in
//   tx_bytes. The peer's FIN may count as one received byte, as in the kernel's counter.
// - Loads and stores to shared memory and copies between processes (process_vm_readv, xpmem, knem):
//   the witness interposes no call that happens once per message. Shared memory is inferred by
//   exclusion. Components that MPI_Finalize unloads and segments that it unmaps are missing.
// - Sockets closed by close-on-exec or in a vfork child (the parent still has them), and processes
//   created by a bare clone().
#ifndef FABRICBENCH_WITNESS_H
#define FABRICBENCH_WITNESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json.h"
#include "common/sink.h"

#define EXPORT __attribute__((visibility("default")))  // interposed, or called by programs

// ---- sockets.c: tables of sockets. Any thread may sample at any time, also in a signal handler.

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
  char local[64], peer[64];  // "ip:port" or "[ip6]:port"; "" if unknown
  struct socket_totals totals;
};

void sockets_sample(int fd, uint64_t inode, enum sample_reason reason);
// Iterates from *cursor == 0; returns false at the end.
bool sockets_next(size_t* cursor, struct socket_entry* entry);
// Sockets for which the table had no room, counted at each close: an upper bound.
uint64_t sockets_dropped(struct socket_totals* totals);
// The traffic of all sockets up to their latest sample, with addresses of this node and of others:
// sent, or with `both_ways` sent and received.
struct both_nodes sockets_carried(bool both_ways);
uint64_t sockets_udp(void);
uint64_t sockets_unix(void);
bool sockets_any_tcp(void);
void sockets_forget(void);

// ---- marks.c: traffic between two marks of the program, and between two flushes of stdout. Only
// the main thread marks; any thread may print and flush.

enum { LABEL_LENGTH = 128 };

struct interval {
  char label[LABEL_LENGTH];
  struct both_nodes carried;
};

// Begins (true) or ends the interval `label`. Programs find it by name and call it from the main
// thread, not from a signal handler.
void fabricbench_mark(bool begins, const char* label);
void marks_set(bool begins, const char* label);
// Iterates from *cursor == 0; returns null at the end.
const struct interval* marks_next(size_t* cursor);
// Records text that is printed to an unbuffered stdout.
void lines_print(const char* text, size_t length);
// Records the text in stdout's buffer before a flush and ends the interval that began at the flush
// before, labelled by the last printed line. Does nothing without printed text.
void lines_flush(const char* buffered, size_t length);
const struct interval* lines_next(size_t* cursor);
// Intervals that were dropped: the table was full or the label too long.
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

void traces_device(int fd);  // remembers a character device if it belongs to a transport
void traces_devices(struct name_list* list);
void traces_maps(struct name_list* libraries, struct shared_maps* maps);
void traces_forget(void);

// ---- cpus.c: the processors on which the process may run, and its CPU time.

void cpus_remember(void);  // reads the processors at the start
// "cpus":"0-3,8","cpus_at_end":null,"cpu_seconds":1.500000; cpus_at_end only if it differs.
void cpus_fields(struct json* out);
// 0-3,8: the latest processors; "-" if they are unknown.
void cpus_text(struct sink* out);
uint64_t cpus_microseconds(void);  // CPU time of the process

// ---- interpose.c: the process and the interposed functions.

struct witness_process {
  bool active;  // FABRICBENCH_WITNESS_DIR is set and usable as a name
  bool plain;   // FABRICBENCH_WITNESS_PLAIN is set: a report of lines, not of JSON
  bool forked;
  int pid;
  int64_t rank, world_size;  // -1: unknown
  char directory[PATH_MAX];
};

extern struct witness_process witness_process;
void witness_sample(int fd, enum sample_reason reason);
// Every open descriptor from first to last.
void witness_sample_range(unsigned first, unsigned last, enum sample_reason reason);

// ---- plain.c

// Writes the report as lines of words.
void plain_report(struct sink* out);

// ---- report.c

// Writes the report once per process; later calls wait for the first one.
void witness_report(const char* ended);
void witness_report_forget(void);

#endif
