// SPDX-License-Identifier: Apache-2.0
//
// fabricbench-client-server: its options, the processes of a server and its client, and the
// connection between the two nodes on which they run.
#ifndef FABRICBENCH_CLIENT_SERVER_H
#define FABRICBENCH_CLIENT_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "program.h"

enum { EXIT_LOST = 1, MOST_AT_ONCE = 16 };

struct options {
  const char* each;
  double listen_s, settle_s;  // settle_s 0: a server must listen to be ready
  const char* interface;      // NULL: server and client run on this node
  char **server, **client;    // NULL at the end
};

// A server and its client for one value.
struct run {
  const char* value;
  int port;
  char address[INET6_ADDRSTRLEN];  // of the server, between nodes
  pid_t server, client;
  FILE* output;  // of the client
};

// ---- client_server_processes.c

// Copies `word` with {value}, {port} and {address} replaced. The caller frees it.
char* replaced(const char* word, const struct run* run);
// Starts the server and waits until it is ready. On failure prints a message and returns false.
bool start_server(struct run* run, const struct options* options);
bool start_client(struct run* run, const struct options* options);
// Waits for the client and prints its output. Returns its exit status.
int finish_client(struct run* run, unsigned round);
// Ends the server, which may end by itself if `wait`. Returns its exit status if it did, else 0.
int end_server(struct run* run, bool wait, const struct options* options);

// ---- client_server_link.c

// A connection between the two nodes over which the sides exchange lines of text.
struct link {
  FILE *in, *out;
  int fd;
};

// Whether this process is the server's side: the first of the launcher's two tasks.
bool is_server_side(void);
// Connects both sides. Exits with a message if the other one cannot be reached.
struct link open_link(bool server_side);
// Sends a line.
__attribute__((format(printf, 2, 3))) void send_line(struct link* link, const char* format, ...);
// Receives a line without its end. Returns false if the other side has closed the connection.
bool receive_line(struct link* link, char* line, int size);
// Writes the address of an interface, or of an adapter's port, of this node; of the link's own end
// if `name` is "any", or if an adapter has no interface. Returns false if the interface has none.
bool address_of(const struct link* link, const char* name, char* text, size_t size);

// ---- client_server_nodes.c

// Runs one round as the server's or the client's side. Returns the exit status, the same on both.
int run_round_between(struct link* link, bool server_side, struct run* runs, size_t count,
                      unsigned round, const struct options* options);

#endif
