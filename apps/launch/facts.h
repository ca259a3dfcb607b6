// SPDX-License-Identifier: Apache-2.0
//
// host.<name>: what is known about this node, its load and its network ports' counters before and
// after. fabricbench-launch writes it for itself and its descendants; where a resource manager's
// daemons start the ranks, fabricbench-node does, beside the first rank of each node.
#ifndef FABRICBENCH_FACTS_H
#define FABRICBENCH_FACTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
  EXIT_USE = 2,        // wrong use, unwritable directory, command not found
  EXIT_NO_SPACE = 75,  // a file could not be written
  EXIT_NOT_EXECUTED = 126,
  EXIT_SIGNAL_BASE = 128,
};

// ---- program.c

__attribute__((format(printf, 1, 2))) void complain(const char* format, ...);  // one line on stderr
double monotonic_s(void);

// ---- atomic_file.c

struct directory {
  const char* path;
  int fd;
};

bool write_atomically(const struct directory* directory, const char* name, const char* text);
void json_string(FILE* out, const char* string);  // with quotes; not UTF-8 becomes U+FFFD

// ---- system_files.c: a fact that cannot be read is "", NAN, or null

void read_line(const char* path, char* text, size_t size);
// The text behind "key :" in a file of such lines.
void read_key(const char* path, const char* key, char* text, size_t size);
// The file NAME in FOLDER.
void read_in(const char* folder, const char* name, char* text, size_t size);
double read_number(const char* folder, const char* name);
void string_or_null(FILE* out, const char* name, const char* text);  // ,"name":"text"
void number_or_null(FILE* out, const char* name, double value);      // ,"name":1.5
// Calls visit for every entry of a folder, in order of name; hidden ones are left out.
void each_entry(const char* folder, void (*visit)(const char* name, void* context), void* context);

// ---- topology.c

// ,"sockets":2,"topology":{…},"numa":{…}
void topology(FILE* out);

// ---- ports.c: interfaces and adapters' ports

enum { TX_BYTES, RX_BYTES, TX_PACKETS, RX_PACKETS, COUNTERS };

struct port {
  char name[64];  // eth0; mlx5_0:1, an adapter and its port; cxi0
  bool interface;
  bool known[COUNTERS];
  uint64_t counters[COUNTERS];
};

struct port_list {
  struct port* items;
  size_t count;
};

struct port_list read_ports(void);
void nics(FILE* out, const struct port_list* ports);  // ,"nics":[…]
// ,"counters":{"eth0":{"tx_bytes":[before,after],…},…}; after NULL: not read yet.
void counters(FILE* out, const struct port_list* before, const struct port_list* after);

// ---- facts.c

struct observation {
  double time_s;  // monotonic
  double busy_cpu_s;
  double load_1min;
  long running;
  struct port_list ports;
};

struct observation observe(void);
// before.time_s to after->time_s is the time of the launch; after NULL: it has not ended. own_cpu_s
// is NAN where nobody here can tell: the foreign share is then null.
bool write_host(const struct directory* directory, const struct observation* before,
                const struct observation* after, double own_cpu_s);
const char* host_name(void);
void host_file_name(char* name, size_t size, const char* before, const char* after);

#endif
