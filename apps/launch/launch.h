// SPDX-License-Identifier: Apache-2.0
//
// fabricbench-launch starts one command (an MPI launcher with its arguments) and leaves what is
// known about that start in one directory:
//
//   begin        before the command executes: when, where, and which processes
//   stdout, stderr
//   end          after it came back: exit status or signal, time limit, leftovers, CPU time. A
//                launch that was killed from outside, or whose starter died, has no end.
//   host.<name>  facts about this node, and its load before and during the launch (facts.h)
//
// Nothing that the command started outlives the wrapper: it is the reaper of all its descendants,
// also of those that left their session, and ends them after the command, at the time limit, on a
// signal, or when the watched process dies. A lock shared by all launches on a node keeps them from
// overlapping; descendants inherit it, so a wrapper that is killed does not open it too early.
#ifndef FABRICBENCH_LAUNCH_H
#define FABRICBENCH_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "facts.h"
#include "program.h"

enum { EXIT_TIME_LIMIT = 124, EXIT_WATCH_DIED = 125 };

// ---- options.c

struct options {
  const char* directory;
  double limit_s, grace_s;
  const char* lock;  // NULL: none
  pid_t watch;       // 0: none
  bool host;         // writes host.<name>; else fabricbench-node does, beside the ranks
  char** command;    // argv, NULL at the end
};

struct options parse_options(int argc, char** argv);  // a complaint and exit(EXIT_USE) otherwise

// ---- supervise.c

enum outcome { RUNNING, CAME_BACK, TIME_LIMIT, WATCH_DIED, SIGNALLED };

struct supervisor {
  int signals;      // signalfd of SIGCHLD and of what ends the wrapper
  int watch;        // pidfd, -1: none, or watch_pid has to be polled
  pid_t watch_pid;  // 0: none
  pid_t child;      // the command, 0 before it is started; leads its own process group
  bool reaped;      // the command has ended; its pid and group may belong to others now
  int wait_status;
  double ended_s;   // monotonic_s() when it was reaped
  int stop_signal;  // that the wrapper received, 0: none
  bool watch_died;
  bool childless;  // no descendant is left
};

void supervisor_open(struct supervisor* supervisor, pid_t watch_pid);
// Waits until the command has ended, limit_s have passed since start_s, or something ends the
// launch.
enum outcome supervise(struct supervisor* supervisor, double start_s, double limit_s);
// Waits up to seconds for the last descendant; a signal or the death of the watched process ends
// it.
void wait_for_descendants(struct supervisor* supervisor, double seconds);
// SIGTERM, grace, SIGKILL to all descendants. Returns how many were alive at the beginning.
unsigned end_descendants(struct supervisor* supervisor, double grace_s);

// ---- process_tree.c

// Sends the signal to every living descendant of this process except those in the group `except`
// (0: none). Returns how many there were, that group included; -1 when /proc cannot be read.
int signal_descendants(int signal, pid_t except);
bool start_time(pid_t pid, uint64_t* ticks);  // /proc/PID/stat, field 22

// ---- command.c

bool find_command(const char* name);  // as execvp would
int open_lock(const char* path);      // exits with a complaint
bool take_lock(struct supervisor* supervisor, int lock);

struct started {
  pid_t pid;    // -1: it could not be started, for the reason in errno
  int go;       // one byte lets the command execute
  int failure;  // errno of a failed exec
};

struct started start_command(const struct directory* directory, char** command);
void let_go(struct started* started);
int execution_error(const struct started* started);  // 0, or why the command was not executed

#endif
