// SPDX-License-Identifier: Apache-2.0
//
// fabricbench-launch starts one command (an MPI launcher with its arguments) and writes the record
// of that start into one directory:
//
//   begin        before the command executes: time, host, process ids
//   stdout, stderr
//   end          after the command has ended: exit status or signal, time limit, leftovers, CPU
//   time.
//                Missing if fabricbench-launch was killed, stopped by a signal, or its watched
//                process ended.
//   host.<name>  facts about this node, and its load before and during the launch (facts.h)
//
// No process that the command started outlives fabricbench-launch. It is the reaper of all its
// descendants, also of those that left their session. It ends them after the command, at the time
// limit, on a signal, and when the watched process ends. A lock shared by all launches on a node
// prevents overlapping launches. Descendants inherit the lock, so it stays closed until all of them
// have ended even if fabricbench-launch is killed.
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
  bool host;         // write host.<name>; false if fabricbench-node writes it
  char** command;    // argv, NULL at the end
};

struct options parse_options(int argc, char** argv);  // exits with EXIT_USE on wrong use

// ---- supervise.c

enum outcome { RUNNING, CAME_BACK, TIME_LIMIT, WATCH_DIED, SIGNALLED };

struct supervisor {
  int signals;      // signalfd of SIGCHLD and of the signals that end the launch
  int watch;        // pidfd; -1: no watched process, or watch_pid is polled
  pid_t watch_pid;  // 0: none
  pid_t child;      // the command, 0 before it is started; leads its own process group
  bool reaped;      // the command has ended; its pid and group may belong to others now
  int wait_status;
  double ended_s;   // monotonic_s() when it was reaped
  int stop_signal;  // received by fabricbench-launch; 0: none
  bool watch_died;
  bool childless;  // no descendant is left
};

void supervisor_open(struct supervisor* supervisor, pid_t watch_pid);
// Waits until the command has ended, limit_s have passed since start_s, a signal arrived, or the
// watched process ended.
enum outcome supervise(struct supervisor* supervisor, double start_s, double limit_s);
// Waits for the end of all descendants, at most `seconds`. A signal or the end of the watched
// process ends the wait.
void wait_for_descendants(struct supervisor* supervisor, double seconds);
// Sends SIGTERM to all descendants and SIGKILL after the grace. Returns the number of descendants
// that were alive at the beginning.
unsigned end_descendants(struct supervisor* supervisor, double grace_s);

// ---- process_tree.c

// Sends the signal to every living descendant of this process except those in the group `except`
// (0: none). Returns the number of living descendants, with that group; -1 if /proc cannot be read.
int signal_descendants(int signal, pid_t except);
bool start_time(pid_t pid, uint64_t* ticks);  // /proc/PID/stat, field 22

// ---- command.c

bool find_command(const char* name);  // finds what execvp would execute
int open_lock(const char* path);      // exits with EXIT_USE on failure
bool take_lock(struct supervisor* supervisor, int lock);

struct started {
  pid_t pid;    // -1: not started, errno has the reason
  int go;       // pipe: one byte lets the command execute
  int failure;  // pipe: errno of a failed exec
};

struct started start_command(const struct directory* directory, char** command);
void let_go(struct started* started);
int execution_error(const struct started* started);  // errno of a failed exec, 0 if it succeeded

#endif
