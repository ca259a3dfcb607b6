// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch.h"

static bool executable(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool find_command(const char* name) {
  if (strchr(name, '/')) return executable(name);
  const char* path = getenv("PATH");
  if (!path) path = "/bin:/usr/bin";
  for (;;) {
    size_t length = strcspn(path, ":");
    char candidate[PATH_MAX];
    int n = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)length, path, length ? "/" : "",
                     name);
    if (n > 0 && (size_t)n < sizeof candidate && executable(candidate)) return true;
    if (!path[length]) return false;
    path += length + 1;
  }
}

// Several users may share the lock, so it is opened for reading and created only where it is
// missing. Symbolic links are refused: the lock may be in a directory like /tmp that everyone can
// write.
int open_lock(const char* path) {
  int fd = -1;
  for (int attempt = 0; fd < 0 && attempt < 10; attempt++) {
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 || errno != ENOENT) break;
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CREAT | O_EXCL, 0644);
    if (fd >= 0) fchmod(fd, 0644);  // whatever the umask
    if (fd < 0 && errno != EEXIST) break;
  }
  struct stat info;
  bool regular = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (regular) return fd;
  complain("--lock %s: cannot open: %s; give a file that everyone who launches here can read", path,
           fd >= 0 ? "not a regular file" : strerror(errno));
  exit(EXIT_USE);
}

// A child waits for the lock, which belongs to the open file that parent and child share. Meanwhile
// the parent can watch for signals, without polling beside a running launch.
bool take_lock(struct supervisor* supervisor, int lock) {
  if (flock(lock, LOCK_EX | LOCK_NB) == 0) return true;
  pid_t parent = getpid(), waiter = fork();
  if (waiter == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    while (flock(lock, LOCK_EX) != 0)
      if (errno != EINTR) _exit(1);
    _exit(0);
  }
  if (waiter < 0) {
    complain("cannot start a process: %s; check the limits (ulimit -u)", strerror(errno));
    return false;
  }
  supervisor->child = waiter;
  enum outcome outcome = supervise(supervisor, monotonic_s(), 1e9);
  bool taken = outcome == CAME_BACK && supervisor->wait_status == 0;
  if (!supervisor->reaped) {
    kill(waiter, SIGKILL);
    wait_for_descendants(supervisor, 1);
  } else if (!taken && outcome == CAME_BACK) {
    complain(
        "--lock: the file system does not support flock(); give a file on a local file system");
  }
  supervisor->child = 0;
  supervisor->reaped = false;
  return taken;
}

static void default_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
}

// Opens the command's standard input, output and error.
static bool open_streams(const struct directory* directory, int streams[3]) {
  static const char* const names[] = {"/dev/null", "stdout", "stderr"};
  for (int i = 0; i < 3; i++) {
    int flags = i == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC;
    streams[i] = openat(directory->fd, names[i], flags | O_CLOEXEC, 0644);
    if (streams[i] >= 0) continue;
    int error = errno;
    complain("--dir %s: cannot open %s: %s; check the directory and its space", directory->path,
             names[i], strerror(error));
    while (i > 0) close(streams[--i]);
    errno = error;
    return false;
  }
  return true;
}

static _Noreturn void child_main(const int streams[3], char** command, pid_t parent, int go,
                                 int failure) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte;
  if (getppid() != parent || read(go, &byte, 1) != 1) _exit(1);
  bool redirected = true;
  for (int i = 0; i < 3; i++) redirected = dup2(streams[i], i) == i && redirected;
  if (redirected) {
    default_signals();
    execvp(command[0], command);
  }
  int error = errno;
  if (write(failure, &error, sizeof error) < 0) _exit(EXIT_USE);
  _exit(EXIT_NOT_EXECUTED);
}

struct started start_command(const struct directory* directory, char** command) {
  struct started started = {.pid = -1};
  int go[2], failure[2], streams[3];
  if (!open_streams(directory, streams)) return started;
  if (pipe2(go, O_CLOEXEC) == 0 && pipe2(failure, O_CLOEXEC | O_NONBLOCK) == 0) {
    pid_t parent = getpid();
    started.pid = fork();
    if (started.pid == 0) {
      close(go[1]);
      child_main(streams, command, parent, go[0], failure[1]);
    }
  }
  if (started.pid < 0) {
    int error = errno;
    complain("cannot start a process: %s; check the limits (ulimit -u, -n)", strerror(error));
    errno = error;
    return started;
  }
  for (int i = 0; i < 3; i++) close(streams[i]);
  close(go[0]);
  close(failure[1]);
  setpgid(started.pid, started.pid);  // in parent and child, so that the order does not matter
  started.go = go[1];
  started.failure = failure[0];
  return started;
}

void let_go(struct started* started) {
  if (write(started->go, "g", 1) != 1) complain("the command died before it was executed");
  close(started->go);
}

int execution_error(const struct started* started) {
  int error = 0;
  return read(started->failure, &error, sizeof error) == (ssize_t)sizeof error ? error : 0;
}
