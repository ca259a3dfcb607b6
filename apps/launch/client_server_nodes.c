// SPDX-License-Identifier: Apache-2.0
//
// A round between two nodes. The lines of the two sides:
//
//   server: "run PORT ADDRESS" for each run, when all servers listen; or "stop STATUS"
//   client: "done STATUS", when all clients have ended
//   server: "end STATUS", when all servers have ended
#include <stdlib.h>
#include <string.h>

#include "client_server.h"

enum { LINE = 256 };

static const char lost[] =
    "lost the connection to the other node; see its messages and the state of the node";

static int status_in(struct link* link, const char* word) {
  char line[LINE];
  size_t length = strlen(word);
  if (receive_line(link, line, sizeof line) && strncmp(line, word, length) == 0 &&
      line[length] == ' ')
    return (int)strtol(line + length, NULL, 10);
  complain("%s", lost);
  return EXIT_LOST;
}

// The address on which the server of a run listens. Prints a message if there is none.
static bool find_address(const struct link* link, struct run* run, const struct options* options) {
  char* name = replaced(options->interface, run);
  bool found = address_of(link, name, run->address, sizeof run->address);
  if (!found)
    complain("no interface or adapter '%s' with an address on this node; see ip address", name);
  free(name);
  return found;
}

static int serve(struct link* link, struct run* runs, size_t count, const struct options* options) {
  bool started = true;
  for (size_t i = 0; i < count && started; i++)
    started = find_address(link, &runs[i], options) && start_server(&runs[i], options);
  int status = started ? 0 : EXIT_LOST;
  for (size_t i = 0; i < count && started; i++)
    send_line(link, "run %d %s", runs[i].port, runs[i].address);
  if (started)
    status = status_in(link, "done");
  else
    send_line(link, "stop %d", status);
  for (size_t i = 0; i < count; i++) {
    int code = end_server(&runs[i], status == 0, options);
    if (!status) status = code;
  }
  if (started) send_line(link, "end %d", status);
  return status;
}

// Receives ports and addresses of a round. Returns the exit status if a server did not start, else
// 0.
static int receive_runs(struct link* link, struct run* runs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char line[LINE], *rest;
    if (!receive_line(link, line, sizeof line)) {
      complain("%s", lost);
      return EXIT_LOST;
    }
    if (strncmp(line, "stop ", 5) == 0) return (int)strtol(line + 5, NULL, 10);
    if (strncmp(line, "run ", 4) != 0) return EXIT_LOST;
    runs[i].port = (int)strtol(line + 4, &rest, 10);
    snprintf(runs[i].address, sizeof runs[i].address, "%s", rest + strspn(rest, " "));
  }
  return 0;
}

static int call(struct link* link, struct run* runs, size_t count, unsigned round,
                const struct options* options) {
  int status = receive_runs(link, runs, count);
  if (status) return status;
  for (size_t i = 0; i < count; i++)
    if (!start_client(&runs[i], options)) status = EXIT_LOST;
  for (size_t i = 0; i < count; i++) {
    int code = finish_client(&runs[i], round);
    if (!status) status = code;
  }
  send_line(link, "done %d", status);
  int code = status_in(link, "end");
  return status ? status : code;
}

int run_round_between(struct link* link, bool server_side, struct run* runs, size_t count,
                      unsigned round, const struct options* options) {
  return server_side ? serve(link, runs, count, options) : call(link, runs, count, round, options);
}
