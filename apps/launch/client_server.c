// SPDX-License-Identifier: Apache-2.0
//
// fabricbench-client-server starts a server and, when it listens, its client, once for each value.
// Values separated by commas run one after the other; values joined by a plus run at the same time,
// as one round. In the arguments, {value} becomes the value and {port} a TCP port that was free
// shortly before.
//
// The output has, for each client, the line "#@round=N value=V" and then the client's whole output.
// The last line is "#@end=ok". The first client that fails ends the program with its exit status.
// The standard output of servers is dropped. In the witness's reports, the server is rank 0 and the
// client rank 1.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

enum { EXIT_LOST = 1, MOST_AT_ONCE = 16, LISTENING = 0x0A };

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
    "\n"
    "output: each client's, after a line #@round=N value=V; the last line is #@end=ok.\n"
    "exit code: 0, that of the first client or server that failed, 1 if one cannot be started, 2 "
    "for\n"
    "wrong use.";
static const double server_end_s = 2, server_term_s = 1, pause_s = 0.002;

struct options {
  const char* each;
  double listen_s;
  char **server, **client;  // NULL at the end
};

// A server and its client for one value.
struct run {
  const char* value;
  int port;
  pid_t server, client;
  FILE* output;  // of the client
};

static void pause_a_little(void) {
  nanosleep(&(struct timespec){.tv_nsec = (long)(pause_s * 1e9)}, NULL);
}

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
    else
      refuse_option(&option);
  }
  options.server = command_words(&arguments, "SERVER :: CLIENT");
  char** separator = options.server;
  while (*separator && strcmp(*separator, "::") != 0) separator++;
  if (separator == options.server || !*separator || !separator[1])
    refuse("missing: SERVER :: CLIENT");
  *separator = NULL;
  options.client = separator + 1;
  return options;
}

// A port that is free for IPv4 and IPv6, as a server may choose either.
static int free_port(void) {
  struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
  struct sockaddr_in any4 = {.sin_family = AF_INET};
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr* address = fd >= 0 ? (struct sockaddr*)&any : (struct sockaddr*)&any4;
  socklen_t length = fd >= 0 ? sizeof any : sizeof any4;
  if (fd < 0) fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, address, length) != 0 || getsockname(fd, address, &length) != 0) {
    complain("cannot find a free TCP port: %s; check the limits (ulimit -n)", strerror(errno));
    exit(EXIT_LOST);
  }
  close(fd);
  return ntohs(address->sa_family == AF_INET6 ? any.sin6_port : any4.sin_port);
}

// Whether a process listens on the port, from /proc/net/tcp and tcp6:
// "  0: 00000000:15B3 00000000:0000 0A …". A test connection is no alternative: some servers accept
// only one.
static bool listens(int port) {
  static const char* const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
  bool listening = false;
  for (size_t i = 0; i < 2 && !listening; i++) {
    FILE* table = fopen(tables[i], "re");
    char line[512];
    while (table && !listening && fgets(line, sizeof line, table)) {
      unsigned local, state;
      if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &local, &state) == 2)
        listening = (int)local == port && state == LISTENING;
    }
    if (table) fclose(table);
  }
  return listening;
}

static char* replaced(const char* word, const struct run* run) {
  char *text = NULL, port[16];
  size_t size;
  FILE* out = open_memstream(&text, &size);
  if (!out) exit(EXIT_LOST);
  snprintf(port, sizeof port, "%d", run->port);
  while (*word) {
    if (strncmp(word, "{value}", 7) == 0) {
      fputs(run->value, out);
      word += 7;
    } else if (strncmp(word, "{port}", 6) == 0) {
      fputs(port, out);
      word += 6;
    } else {
      fputc(*word++, out);
    }
  }
  fclose(out);
  return text;
}

static pid_t start(char** command, const struct run* run, const char* rank, int output) {
  size_t count = 0;
  while (command[count]) count++;
  pid_t parent = getpid(), child = fork();
  if (child != 0) {
    if (child < 0)
      complain("cannot start a process: %s; check the limits (ulimit -u)", strerror(errno));
    return child;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_LOST);
  char** words = calloc(count + 1, sizeof *words);
  if (!words) _exit(EXIT_LOST);
  for (size_t i = 0; i < count; i++) words[i] = replaced(command[i], run);
  setenv("FABRICBENCH_RANK", rank, 1);
  setenv("FABRICBENCH_RANKS", "2", 1);
  if (output >= 0) dup2(output, STDOUT_FILENO);
  execvp(words[0], words);
  complain("cannot execute %s: %s; check its name and PATH", words[0], strerror(errno));
  _exit(EXIT_NOT_FOUND);
}

static int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? EXIT_SIGNAL_BASE + WTERMSIG(wait_status)
                                  : WEXITSTATUS(wait_status);
}

// Waits for the end of the process, at most `seconds`. Returns its exit status, or -1.
static int wait_for(pid_t pid, double seconds) {
  double end_s = monotonic_s() + seconds;
  int status;
  for (;;) {
    pid_t found = waitpid(pid, &status, WNOHANG);
    if (found == pid) return exit_status(status);
    if (found < 0 && errno != EINTR) return EXIT_LOST;
    if (monotonic_s() >= end_s) return -1;
    pause_a_little();
  }
}

static bool start_server(struct run* run, const struct options* options) {
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  run->port = free_port();
  run->server = start(options->server, run, "0", nowhere);
  if (nowhere >= 0) close(nowhere);
  if (run->server < 0) return false;
  double end_s = monotonic_s() + options->listen_s;
  while (!listens(run->port)) {
    int status = wait_for(run->server, 0);
    if (status >= 0) {
      complain("the server %s ended before it listened, exit status %d; see its messages",
               options->server[0], status);
      run->server = 0;
      return false;
    }
    if (monotonic_s() >= end_s) {
      complain("the server %s did not listen on port %d within %g s; see --listen",
               options->server[0], run->port, options->listen_s);
      return false;
    }
    pause_a_little();
  }
  return true;
}

static bool start_client(struct run* run, const struct options* options) {
  run->output = tmpfile();
  if (!run->output) {
    complain("no temporary file: %s", strerror(errno));
    return false;
  }
  fcntl(fileno(run->output), F_SETFD, FD_CLOEXEC);
  run->client = start(options->client, run, "1", fileno(run->output));
  return run->client > 0;
}

static void show(const struct run* run, unsigned round) {
  char block[65536];
  size_t n;
  bool whole_line = true;
  printf("#@round=%u value=%s\n", round, run->value);
  if (fseek(run->output, 0, SEEK_SET) != 0) return;
  do {
    n = fread(block, 1, sizeof block, run->output);
    fwrite(block, 1, n, stdout);
    if (n > 0) whole_line = block[n - 1] == '\n';
  } while (n == sizeof block);
  if (!whole_line) putchar('\n');
  fflush(stdout);
}

// Ends the server. Returns its exit status if it ended by itself, else 0.
static int end_server(struct run* run, bool wait) {
  if (run->server <= 0) return 0;
  int status = wait ? wait_for(run->server, server_end_s) : -1;
  if (status >= 0) return status;
  kill(run->server, SIGTERM);
  if (wait_for(run->server, server_term_s) >= 0) return 0;
  kill(run->server, SIGKILL);
  waitpid(run->server, NULL, 0);
  return 0;
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
    if (runs[i].client <= 0) continue;
    int ended, code = EXIT_LOST;
    if (waitpid(runs[i].client, &ended, 0) == runs[i].client) code = exit_status(ended);
    if (!status) status = code;
    show(&runs[i], round);
  }
  for (size_t i = 0; i < count; i++) {
    int code = end_server(&runs[i], status == 0);
    if (code && !status) complain("the server %s: exit status %d", options->server[0], code);
    if (!status) status = code;
    if (runs[i].output) fclose(runs[i].output);
  }
  return status;
}

int main(int argc, char** argv) {
  struct options options = parse_options(argc, argv);
  signal(SIGCHLD, SIG_DFL);
  char* rounds = strdup(options.each);
  if (!rounds) return EXIT_LOST;
  unsigned number = 0;
  for (char *rest = rounds, *round; (round = strsep(&rest, ",")); number++) {
    struct run runs[MOST_AT_ONCE] = {0};
    size_t count = 0;
    for (char *more = round, *value; (value = strsep(&more, "+")); count++) {
      if (count == MOST_AT_ONCE) refuse("--each: more than %d values joined by plus", MOST_AT_ONCE);
      runs[count].value = value;
    }
    int status = run_round(runs, count, number, &options);
    if (status) {
      free(rounds);
      return status;
    }
  }
  free(rounds);
  puts("#@end=ok");
  return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_LOST;
}
