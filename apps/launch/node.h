// SPDX-License-Identifier: Apache-2.0
#ifndef FABRICBENCH_NODE_H
#define FABRICBENCH_NODE_H

#include <stdbool.h>

#include "facts.h"
#include "sums.h"

// ---- gather.c: collects the witness reports of a node's ranks in a directory on the node

struct gathering {
  char path[PATH_MAX];  // the node's directory, "": there is none
};

// Creates and returns the directory in `base` for this launch on this node. Its path is "" if it
// cannot be created or if other users may write into it: each rank then writes its report into the
// launch's directory.
struct gathering gathering_open(const char* base, const char* launch_directory);
// Announces that this process, which is about to execute the program, will write a report.
void gathering_join(const struct gathering* gathering);
// Adds up the reports and removes the node's directory. With `wait`, only after all announced
// processes have ended. A signal, which the caller has blocked, ends the wait.
struct sums gathering_close(const struct gathering* gathering, bool wait);

#endif
