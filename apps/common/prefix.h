// SPDX-License-Identifier: Apache-2.0
#ifndef FABRICBENCH_PREFIX_H
#define FABRICBENCH_PREFIX_H

#include <stdbool.h>
#include <string.h>

static inline bool begins(const char* string, const char* prefix) {
  return strncmp(string, prefix, strlen(prefix)) == 0;
}

#endif
