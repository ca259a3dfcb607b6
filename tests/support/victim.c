// SPDX-License-Identifier: Apache-2.0
// Test program into which the witness is preloaded. The first argument selects an action. The
// program sends to itself and prints results that the witness must not change.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int listener, sent_bytes = 1000;

static int listen_any(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd, (void*)&address, sizeof address) || listen(fd, 64)) exit(90);
  return fd;
}

static void pair(int fds[2]) {
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  getsockname(listener, (void*)&address, &length);
  fds[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fds[0], (void*)&address, sizeof address)) exit(91);
  if ((fds[1] = accept(listener, NULL, NULL)) < 0) exit(92);
}

static void move(const int fds[2]) {
  char data[65536] = {0};
  if (send(fds[0], data, (size_t)sent_bytes, 0) != sent_bytes) exit(93);
  if (recv(fds[1], data, (size_t)sent_bytes, MSG_WAITALL) != sent_bytes) exit(94);
}

static void moved(int fds[2]) {
  pair(fds), move(fds);
}

static void send_bytes(const int fds[2], int count) {
  sent_bytes = count, move(fds);
}

// Marks three intervals, two of them with the same label, and one with a label that is too long.
static void mark_some(int fds[2]) {
  void* symbol = dlsym(RTLD_DEFAULT, "fabricbench_mark");
  void (*mark)(bool, const char*);
  memcpy(&mark, &symbol, sizeof mark);
  char label[200] = {0};
  memset(label, 'x', sizeof label - 1);
  errno = 77;
  mark(true, "first.8"), send_bytes(fds, 100), mark(false, "first.8");
  if (errno != 77) exit(95);
  send_bytes(fds, 5000);
  mark(true, "second"), send_bytes(fds, 7), send_bytes(fds, 7);
  mark(false, "another"), mark(false, "second"), mark(false, "second");
  mark(true, "first.8"), send_bytes(fds, 11), close(fds[0]), close(fds[1]), mark(false, "first.8");
  mark(true, label), mark(false, label);
}

// Prints and flushes one row per size, as a benchmark does.
static void print_some(int fds[2]) {
  send_bytes(fds, 3000);
  printf("# A %s\n#bytes t\n", "benchmark"), fflush(stdout);
  send_bytes(fds, 100);
  fprintf(stdout, "%8d ", 100), printf("%.2f\n", 0.5), fflush(stdout);
  fprintf(stderr, "%s", ""), fflush(stderr), fflush(stdout);
  send_bytes(fds, 200), send_bytes(fds, 1);
  printf("%8d %.2f\n\n", 200, 0.75), fflush(stdout);
}

static void* print_many(void* unused) {
  for (int i = 0; i < 700; i++) printf("%d %s\n", i, "line"), fflush(stdout);
  return unused;
}

static int pairs[500][2];

static void* close_some(void* start) {
  for (long i = (long)start; i < 500; i += 10) {
    shutdown(pairs[i][0], SHUT_WR);
    close(pairs[i][0]), close(pairs[i][1]);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "close";
  int fds[2], extra;
  listener = listen_any();
  if (!strcmp(what, "close")) {
    moved(fds);
    errno = 77;
    if (close(fds[0]) || close(fds[1]) || errno != 77) return 95;
    printf("close of -1: %d %s\n", close(-1), strerror(errno));
    printf("shutdown: %d %s\n", shutdown(listener + 100, SHUT_RD), strerror(errno));
    printf("dup2: %d %s\n", dup2(-1, 200), strerror(errno));
    printf("next: %d\n", dup(1));
    return 42;
  }
  if (!strcmp(what, "marks")) {
    moved(fds), mark_some(fds);
  } else if (!strcmp(what, "lines")) {
    moved(fds), print_some(fds);
  } else if (!strcmp(what, "lines-threads")) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, print_many, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  } else if (!strcmp(what, "lines-unbuffered")) {
    setvbuf(stdout, NULL, _IONBF, 0);
    moved(fds), print_some(fds);
  } else if (!strcmp(what, "once")) {
    moved(fds);
    extra = dup(fds[0]);
    shutdown(fds[0], SHUT_WR), close(fds[0]), close(extra);
  } else if (!strcmp(what, "dup2")) {
    moved(fds);
    dup2(1, fds[0]), dup3(1, fds[1], 0);
  } else if (!strcmp(what, "close_range")) {
    moved(fds);
    if (close_range(3, ~0U, 0)) return 96;
  } else if (!strcmp(what, "_exit") || !strcmp(what, "_Exit") || !strcmp(what, "quick_exit")) {
    moved(fds);
    memset(malloc(1) - 64, 0x5a, 4096); /* corrupts the heap */
    if (what[1] == 'e') _exit(7);
    if (what[1] == 'E') _Exit(7);
    quick_exit(7);
  } else if (!strcmp(what, "kill")) {
    moved(fds);
    kill(getpid(), SIGKILL);
  } else if (!strcmp(what, "threads")) {
    pthread_t threads[10];
    for (int i = 0; i < 500; i++) sent_bytes = i + 1, moved(pairs[i]);
    for (long i = 0; i < 10; i++) pthread_create(&threads[i], NULL, close_some, (void*)i);
    for (int i = 0; i < 10; i++) pthread_join(threads[i], NULL);
  } else if (!strcmp(what, "overflow")) {
    for (int i = 0; i < 2100; i++)
      moved(fds), shutdown(fds[0], SHUT_WR), close(fds[0]), close(fds[1]);
  } else if (!strcmp(what, "fork")) {
    moved(fds);
    pid_t child = fork();
    if (!child) moved(fds), close(fds[0]), exit(0);
    waitpid(child, NULL, 0);
    close(fds[0]), close(fds[1]);
  } else if (!strcmp(what, "fork-idle")) {
    moved(fds);
    close(fds[0]), close(fds[1]);
    pid_t child = fork();
    if (!child) exit(0);
    waitpid(child, NULL, 0);
  } else if (!strcmp(what, "vfork")) {
    moved(fds);
    pid_t child = vfork();
    if (!child) _exit(0);
    waitpid(child, NULL, 0);
    move(fds);
  } else if (!strcmp(what, "reset")) {
    struct linger abort_it = {.l_onoff = 1};
    moved(fds);
    setsockopt(fds[0], SOL_SOCKET, SO_LINGER, &abort_it, sizeof abort_it);
    close(fds[0]), close(fds[1]);
  } else if (!strcmp(what, "others")) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    close(fds[0]); /* the other end stays open */
    getsockname(listener, (void*)&address, &length);
    extra = socket(AF_INET, SOCK_DGRAM, 0);
    connect(extra, (void*)&address, sizeof address);
    close(dup(extra)), close(extra);
    close(socket(AF_INET, SOCK_DGRAM, 0)),
        close(socket(AF_INET, SOCK_STREAM, 0)); /* not connected */
  } else if (!strcmp(what, "shared")) {
    extra = memfd_create("segment", 0);
    if (ftruncate(extra, 8192)) return 97;
    mmap(NULL, 8192, PROT_READ, MAP_SHARED, extra, 0);
    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, extra, 0);
  } else if (!strcmp(what, "unsetenv")) {
    clearenv();
    if (chdir("/")) return 98;
  }
  return 0;
}
