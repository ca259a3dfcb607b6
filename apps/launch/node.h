// SPDX-License-Identifier: Apache-2.0
#ifndef FABRICBENCH_NODE_H
#define FABRICBENCH_NODE_H

#include <stdbool.h>

#include "facts.h"

// ---- gather.c: the reports of a node's ranks lie in a directory of its own until they are one
// file

struct gathering {
  char path[PATH_MAX];  // the node's directory, "": there is none
};

// The directory in base that belongs to this launch on this node, made where it is missing. None
// where it cannot be made, or is not safely ours: each rank then leaves a file of its own.
struct gathering gathering_open(const char* base, const char* launch_directory);
// This process, which is about to become the program, will leave a report.
void gathering_join(const struct gathering* gathering);
// The reports become witness.<host>.jsonl in the launch's directory, a line each, and the node's
// directory is removed; where wait says so, only when all that joined have ended. A signal, which
// the caller has blocked, ends the wait.
void gathering_close(const struct gathering* gathering, const struct directory* directory,
                     bool wait);

#endif
