// SPDX-License-Identifier: Apache-2.0
#ifndef FABRICBENCH_NEXT_SYMBOL_H
#define FABRICBENCH_NEXT_SYMBOL_H

#include <dlfcn.h>
#include <string.h>

// Writes the address of the function that a preloaded library replaces into the function pointer at
// `pointer`. memcpy, because ISO C converts no object pointer to a function pointer.
static inline void find_next(void* pointer, const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  memcpy(pointer, &symbol, sizeof symbol);
}

#endif
