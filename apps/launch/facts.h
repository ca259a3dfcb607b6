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

#include "common/json.h"
#include "program.h"

// ---- atomic_file.c

struct directory {
  const char* path;
  int fd;
};

// A file that gets its name when it is complete.
struct atomic_file {
  const struct directory* directory;
  char name[NAME_MAX + 1], temporary[NAME_MAX + 1];
  char buffer[16384];
  struct json json;  // its text
};

// Starts the file. A failure is kept until the commit.
void atomic_begin(struct atomic_file* file, const struct directory* directory, const char* name);
// Gives the file its name. On failure: a complaint, false and errno.
bool atomic_commit(struct atomic_file* file);
void atomic_discard(struct atomic_file* file);

// ---- system_files.c: a fact that cannot be read is "", NAN, or null

void read_line(const char* path, char* text, size_t size);
// The text behind "key :" in a file of such lines.
void read_key(const char* path, const char* key, char* text, size_t size);
// The file NAME in FOLDER.
void read_in(const char* folder, const char* name, char* text, size_t size);
double read_number(const char* folder, const char* name);
// Six significant digits, or null where the value is not finite.
void number_or_null(struct json* out, const char* key, double value);
// Calls visit for every entry of a folder, in order of name; hidden ones are left out.
void each_entry(const char* folder, void (*visit)(const char* name, void* context), void* context);

// ---- topology.c

// "topology":{…},"sockets":2,"numa":{…}
void topology(struct json* out);

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
void nics(struct json* out, const struct port_list* ports);  // "nics":[…]
// "counters":{"eth0":{"tx_bytes":[before,after],…},…}; after NULL: not read yet.
void counters(struct json* out, const struct port_list* before, const struct port_list* after);

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
