// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum { KILL_ROUNDS = 200 };
static const double kill_pause_s = 0.05;  // KILL_ROUNDS of them: unkillable processes delay by 10 s
static const double watch_period_s = 0.2;  // without pidfd_open
static const double settle_s = 0.1;        // for a launcher's helpers that are just ending

void supervisor_open(struct supervisor* supervisor, pid_t watch_pid) {
  *supervisor = (struct supervisor){.watch = -1};
  static const int wanted[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) sigaddset(&set, wanted[i]);
  signal(SIGCHLD, SIG_DFL);  // if it were ignored, the kernel would reap the command
  sigprocmask(SIG_BLOCK, &set, NULL);
  supervisor->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (supervisor->signals < 0) {
    complain("signalfd: %s; a Linux kernel with signalfd is needed", strerror(errno));
    exit(EXIT_USE);
  }
  if (watch_pid == 0) return;
  supervisor->watch = (int)syscall(SYS_pidfd_open, watch_pid, 0);  // close-on-exec by itself
  if (supervisor->watch >= 0) return;
  if (errno == ESRCH)
    supervisor->watch_died = true;
  else
    supervisor->watch_pid = watch_pid;
}

static void reap(struct supervisor* supervisor) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != supervisor->child) continue;
    supervisor->reaped = true;
    supervisor->wait_status = status;
    supervisor->ended_s = monotonic_s();
  }
  supervisor->childless = pid < 0 && errno == ECHILD;
}

static int milliseconds(double seconds) {  // rounded up, at most about ten days
  if (seconds <= 0) return 0;
  return seconds > 1e6 ? 1000000000 : (int)(seconds * 1e3) + 1;
}

// Waits for signals and for the end of the watched process, at most `seconds`, and records them.
// Returns whether a signal to stop arrived or the watched process ended.
static bool wait_for_event(struct supervisor* supervisor, double seconds) {
  if (supervisor->watch_pid && seconds > watch_period_s) seconds = watch_period_s;
  struct pollfd sources[2] = {
      {.fd = supervisor->signals, .events = POLLIN},
      {.fd = supervisor->watch_died ? -1 : supervisor->watch, .events = POLLIN},
  };
  poll(sources, 2, milliseconds(seconds));
  bool stop = false;
  struct signalfd_siginfo info;
  while (read(supervisor->signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo == SIGCHLD) continue;
    supervisor->stop_signal = (int)info.ssi_signo;
    stop = true;
  }
  bool gone = supervisor->watch_pid && kill(supervisor->watch_pid, 0) != 0 && errno == ESRCH;
  if (!supervisor->watch_died && (gone || sources[1].revents)) supervisor->watch_died = stop = true;
  reap(supervisor);
  return stop;
}

enum outcome supervise(struct supervisor* supervisor, double start_s, double limit_s) {
  for (;;) {
    // Events that invalidate the launch come first.
    if (supervisor->stop_signal) return SIGNALLED;
    if (supervisor->watch_died) return WATCH_DIED;
    if (supervisor->reaped) return CAME_BACK;
    double remaining_s = start_s + limit_s - monotonic_s();
    if (remaining_s <= 0) return TIME_LIMIT;
    wait_for_event(supervisor, remaining_s);
  }
}

void wait_for_descendants(struct supervisor* supervisor, double seconds) {
  double end_s = monotonic_s() + seconds, remaining_s;
  reap(supervisor);
  while (!supervisor->childless && (remaining_s = end_s - monotonic_s()) > 0)
    if (wait_for_event(supervisor, remaining_s)) return;
}

// The group's number is that of the command and cannot be reused before the command is reaped.
static int signal_all(const struct supervisor* supervisor, int signal) {
  bool group = supervisor->child > 0 && !supervisor->reaped;
  if (group) kill(-supervisor->child, signal);
  return signal_descendants(signal, group ? supervisor->child : 0);
}

unsigned end_descendants(struct supervisor* supervisor, double grace_s) {
  wait_for_descendants(supervisor, supervisor->reaped ? settle_s : 0);
  if (supervisor->childless) return 0;
  int found = signal_all(supervisor, SIGTERM);
  wait_for_descendants(supervisor, grace_s);
  // A process may have forked between the listing and its end: repeat until none is left.
  for (int round = 0; !supervisor->childless && round < KILL_ROUNDS; round++) {
    signal_all(supervisor, SIGKILL);
    wait_for_event(supervisor, kill_pause_s);
  }
  if (!supervisor->childless)
    complain("processes remain after SIGKILL; find and end them before the next launch");
  return found > 0 ? (unsigned)found : 0;
}
