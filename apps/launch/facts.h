// SPDX-License-Identifier: Apache-2.0
//
// host.<name>: the facts about one node: hardware, kernel settings, and the load and the network
// ports' counters before and after the launch. fabricbench-launch writes it for its own node. Where
// a resource manager's daemons start the ranks, fabricbench-node writes it, once for each node.
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

// Starts the file. atomic_commit() reports a failure.
void atomic_begin(struct atomic_file* file, const struct directory* directory, const char* name);
// Gives the file its name. On failure prints a message, sets errno and returns false.
bool atomic_commit(struct atomic_file* file);
void atomic_discard(struct atomic_file* file);

// ---- system_files.c: a fact that cannot be read is "" or NAN, and null in JSON

void read_line(const char* path, char* text, size_t size);
// The text after "key :" in a file of such lines.
void read_key(const char* path, const char* key, char* text, size_t size);
// The first line of the file NAME in FOLDER.
void read_in(const char* folder, const char* name, char* text, size_t size);
double read_number(const char* folder, const char* name);
// Six significant digits, or null where the value is not finite.
void number_or_null(struct json* out, const char* key, double value);
// Calls visit for every entry of a folder that is not hidden, in order of name.
void each_entry(const char* folder, void (*visit)(const char* name, void* context), void* context);

// ---- topology.c

// "topology":{…},"sockets":2,"numa":{…}
void topology(struct json* out);

// ---- instructions.c

// "instructions":["avx","avx2",…], null if /proc/cpuinfo has no flags.
void instructions(struct json* out);

// ---- ports.c, nics.c: interfaces and adapters' ports

#define RDMA_FOLDER "/sys/class/infiniband"
#define CXI_FOLDER "/sys/class/cxi"
enum { FOLDER = 512 };  // the longest path of an adapter's folder

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
// Fields that a caller adds to host.<name>.
struct more_fields {
  void (*write)(struct json* out, void* context);
  void* context;
};

// Writes host.<name>. The launch lasted from before->time_s to after->time_s; `after` is NULL while
// it runs. own_cpu_s is the launch's own CPU time, NAN if unknown: the foreign share is then null.
// `more` may be NULL.
bool write_host(const struct directory* directory, const struct observation* before,
                const struct observation* after, double own_cpu_s, const struct more_fields* more);
const char* host_name(void);
void host_file_name(char* name, size_t size, const char* before, const char* after);

#endif
