// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into the ranks of MPICH 4.0 over UCX's TCP, whose MPI_Finalize else hangs now and then.
// UCX closes a TCP endpoint by an empty transfer that the peer must acknowledge (25 bytes). A peer
// that has acknowledged it while still in the last barrier, and whose own endpoints are closed,
// waits in the process manager's barrier, and nobody acknowledges what comes after. A pause between
// the barrier and the first close lets every rank leave the barrier before any endpoint closes:
// then each acknowledges while it closes its own. A library that closes
// through another function never comes here.
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

typedef void* (*disconnect_function)(void* endpoint);

__attribute__((visibility("default"))) void* ucp_disconnect_nb(void* endpoint) {
  static const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
  static bool paused = false;
  if (!paused) nanosleep(&pause, NULL);
  paused = true;
  void* address = dlsym(RTLD_NEXT, "ucp_disconnect_nb");
  return address ? ((disconnect_function)address)(endpoint) : NULL;
}
