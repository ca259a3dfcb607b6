// SPDX-License-Identifier: Apache-2.0
//
// fabricbench-client-server starts a server and, when it listens, its client, once for each value.
// Values separated by commas run one after the other; values joined by a plus run at the same time,
// as one round. In the arguments, {value} becomes the value and {port} a TCP port that was free
// shortly before.
//
// With --interface, two tasks of a launcher run this program, one on each of two nodes: the first
// starts the servers, the second the clients. They agree on ports and addresses over a connection
// of their own, and {address} becomes the server's address on the interface.
//
// The output has, for each client, the line "#@round=N value=V" and then the client's whole output.
// The last line is "#@end=ok". The first client that fails ends the program with its exit status.
// The standard output of servers is dropped. In the witness's reports, the server is rank 0 and the
// client rank 1.
#include "client_server.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: fabricbench-client-server [option]... -- SERVER [ARGUMENT]... :: CLIENT [ARGUMENT]...\n"
    "\n"
    "Starts a server, and its client when the server listens, once for each value. In the "
    "arguments,\n"
    "{value} becomes the value and {port} a free TCP port.\n"
    "\n"
    "  --each VALUES      values joined by commas run one after the other, values joined by plus "
    "at\n"
    "                     the same time (one empty value)\n"
    "  --listen SECONDS   time limit for a server to listen (10)\n"
    "  --settle SECONDS   start the client this long after its server, which may listen on no TCP "
    "port\n"
    "  --interface NAME   srun started this program once on each of two nodes: the first runs the\n"
    "                     servers, the second the clients. {address} becomes the address of the\n"
    "                     interface, or of the adapter's port, on the server's node. NAME may be\n"
    "                     {value}; \"any\" takes the address by which the nodes know each other\n"
    "\n"
    "output: each client's, after a line #@round=N value=V; the last line is #@end=ok.\n"
    "exit code: 0, that of the first client or server that failed, 1 if one cannot be started, 2 "
    "for\n"
    "wrong use.";

static struct options parse_options(int argc, char** argv) {
  static const double most_seconds = 1e6;
  struct options options = {.each = "", .listen_s = 10};
  struct arguments arguments = {
      .count = argc, .words = argv, .next = 1, .help = help, .empty_values = true};
  for (struct option option; next_option(&arguments, &option);) {
    if (is_option(&option, "--each"))
      options.each = option.value;
    else if (is_option(&option, "--listen"))
      options.listen_s = option_seconds(&option, false, most_seconds);
    else if (is_option(&option, "--settle"))
      options.settle_s = option_seconds(&option, false, most_seconds);
    else if (is_option(&option, "--interface"))
      options.interface = option.value;
    else
      refuse_option(&option);
  }
  if (options.interface && !*options.interface) refuse("--interface: the value is missing");
  options.server = command_words(&arguments, "SERVER :: CLIENT");
  char** separator = options.server;
  while (*separator && strcmp(*separator, "::") != 0) separator++;
  if (separator == options.server || !*separator || !separator[1])
    refuse("missing: SERVER :: CLIENT");
  *separator = NULL;
  options.client = separator + 1;
  return options;
}

// Starts all servers and clients of a round at once. Returns the exit status of the first client
// that failed, else of the first server that failed.
static int run_round(struct run* runs, size_t count, unsigned round,
                     const struct options* options) {
  bool started = true;
  for (size_t i = 0; i < count && started; i++) started = start_server(&runs[i], options);
  for (size_t i = 0; i < count && started; i++) started = start_client(&runs[i], options);
  int status = started ? 0 : EXIT_LOST;
  for (size_t i = 0; i < count; i++) {
    int code = finish_client(&runs[i], round);
    if (!status) status = code;
  }
  for (size_t i = 0; i < count; i++) {
    int code = end_server(&runs[i], status == 0, options);
    if (!status) status = code;
  }
  return status;
}

// Splits a round into its values. Returns their number.
static size_t parse_round(char* round, struct run* runs) {
  size_t count = 0;
  for (char *rest = round, *value; (value = strsep(&rest, "+")); count++) {
    if (count == MOST_AT_ONCE) refuse("--each: more than %d values joined by plus", MOST_AT_ONCE);
    runs[count].value = value;
  }
  return count;
}

int main(int argc, char** argv) {
  struct options options = parse_options(argc, argv);
  signal(SIGCHLD, SIG_DFL);
  char* rounds = strdup(options.each);
  if (!rounds) return EXIT_LOST;
  bool server_side = options.interface && is_server_side();
  struct link link = {.fd = -1};
  if (options.interface) link = open_link(server_side);
  int status = 0;
  unsigned number = 0;
  for (char *rest = rounds, *round; !status && (round = strsep(&rest, ",")); number++) {
    struct run runs[MOST_AT_ONCE] = {0};
    size_t count = parse_round(round, runs);
    status =
        options.interface ? run_round_between(&link, server_side, runs, count, number, &options)
                          : run_round(runs, count, number, &options);
  }
  free(rounds);
  if (status || server_side) return status;
  puts("#@end=ok");
  return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_LOST;
}
