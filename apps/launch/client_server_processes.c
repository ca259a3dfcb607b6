// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client_server.h"

enum { LISTENING = 0x0A };
static const double server_end_s = 2, server_term_s = 1, pause_s = 0.002;

static void pause_a_little(void) {
  nanosleep(&(struct timespec){.tv_nsec = (long)(pause_s * 1e9)}, NULL);
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

char* replaced(const char* word, const struct run* run) {
  char *text = NULL, port[16];
  size_t size;
  FILE* out = open_memstream(&text, &size);
  if (!out) exit(EXIT_LOST);
  snprintf(port, sizeof port, "%d", run->port);
  // Within a node the address is already part of the command.
  const char* address = *run->address ? run->address : NULL;
  const struct {
    const char *name, *value;
  } words[] = {{"{value}", run->value}, {"{port}", port}, {"{address}", address}};
  const size_t count = sizeof words / sizeof words[0];
  while (*word) {
    size_t i = 0;
    while (i < count && strncmp(word, words[i].name, strlen(words[i].name)) != 0) i++;
    if (i < count && words[i].value) {
      fputs(words[i].value, out);
      word += strlen(words[i].name);
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
  signal(SIGPIPE, SIG_DFL);  // ignored between nodes, because the other side may be lost
  char** words = calloc(count + 1, sizeof *words);
  if (!words || count == 0) _exit(EXIT_LOST);
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

// Whether the server ended before it was ready.
static bool server_has_ended(struct run* run, const struct options* options) {
  int status = wait_for(run->server, 0);
  if (status < 0) return false;
  complain("the server %s ended before it listened, exit status %d; see its messages",
           options->server[0], status);
  run->server = 0;
  return true;
}

bool start_server(struct run* run, const struct options* options) {
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  run->port = free_port();
  run->server = start(options->server, run, "0", nowhere);
  if (nowhere >= 0) close(nowhere);
  if (run->server < 0) return false;
  bool settles = options->settle_s > 0;
  double end_s = monotonic_s() + (settles ? options->settle_s : options->listen_s);
  while (!listens(run->port)) {
    if (server_has_ended(run, options)) return false;
    if (monotonic_s() >= end_s) {
      if (settles) return true;
      complain("the server %s did not listen on port %d within %g s; see --listen",
               options->server[0], run->port, options->listen_s);
      return false;
    }
    pause_a_little();
  }
  return true;
}

bool start_client(struct run* run, const struct options* options) {
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

int finish_client(struct run* run, unsigned round) {
  int ended, status = EXIT_LOST;
  if (run->client > 0) {
    if (waitpid(run->client, &ended, 0) == run->client) status = exit_status(ended);
    show(run, round);
  }
  if (run->output) fclose(run->output);
  run->output = NULL;
  return status;
}

int end_server(struct run* run, bool wait, const struct options* options) {
  if (run->server <= 0) return 0;
  int status = wait ? wait_for(run->server, server_end_s) : -1;
  if (status > 0) complain("the server %s: exit status %d", options->server[0], status);
  if (status >= 0) return status;
  kill(run->server, SIGTERM);
  if (wait_for(run->server, server_term_s) >= 0) return 0;
  kill(run->server, SIGKILL);
  waitpid(run->server, NULL, 0);
  return 0;
}
