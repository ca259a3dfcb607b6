// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into the ranks of MPICH over UCX's TCP. It keeps MPI_Finalize of MPICH 4.0 and 4.1 from
// hanging.
//
// The fault: MPI_Finalize closes every UCX endpoint. UCX closes a TCP endpoint with an empty
// transfer of 25 bytes, which the peer acknowledges only while it calls ucp_worker_progress. When a
// rank has closed its last endpoint, it waits in read() for the process manager's barrier and makes
// no more progress. A rank that closes its endpoints later waits for that rank's acknowledgement
// for ever. MPI_Finalize does not synchronise the ranks before the close, so it happens as soon as
// one rank still waits for a third one while its peers close. MPICH 4.2 has no barrier after the
// close.
//
// The remedy: from the first close until the worker is destroyed, a read() that would block makes
// progress while it waits. No rank leaves the barrier before every rank has closed its endpoints,
// so every acknowledgement is sent. A process manager whose client waits in another function than
// read() still hangs.
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/next_symbol.h"

#define EXPORT __attribute__((visibility("default")))

enum { MOST_WORKERS = 64, WAIT_MILLISECONDS = 1, UCX_UNSUPPORTED = -22 };

// The next definitions in the search order; null in a process without UCX.
static struct {
  int (*create)(void* context, const void* parameters, void** worker);
  void (*destroy)(void* worker);
  void* (*disconnect)(void* endpoint);
  unsigned (*progress)(void* worker);
  ssize_t (*read)(int fd, void* buffer, size_t size);
} next;

// MPICH creates and destroys workers on one thread at a time.
static void* workers[MOST_WORKERS];
// Per thread: during MPI_Finalize MPICH calls UCX only from the thread that closes.
static _Thread_local bool closing;

__attribute__((constructor)) static void find_all(void) {
  find_next(&next.create, "ucp_worker_create");
  find_next(&next.destroy, "ucp_worker_destroy");
  find_next(&next.disconnect, "ucp_disconnect_nb");
  find_next(&next.progress, "ucp_worker_progress");
  find_next(&next.read, "read");
}

static void replace(const void* old, void* new) {
  for (size_t i = 0; i < MOST_WORKERS; i++)
    if (workers[i] == old) {
      workers[i] = new;
      return;
    }
}

// Declared here because UCX's headers may be missing.
int ucp_worker_create(void* context, const void* parameters, void** worker);
void* ucp_disconnect_nb(void* endpoint);
void ucp_worker_destroy(void* worker);

EXPORT int ucp_worker_create(void* context, const void* parameters, void** worker) {
  if (!next.create) return UCX_UNSUPPORTED;
  int status = next.create(context, parameters, worker);
  if (status == 0) replace(NULL, *worker);
  return status;
}

EXPORT void* ucp_disconnect_nb(void* endpoint) {
  closing = true;
  return next.disconnect ? next.disconnect(endpoint) : NULL;
}

EXPORT void ucp_worker_destroy(void* worker) {
  closing = false;
  replace(worker, NULL);
  if (next.destroy) next.destroy(worker);
}

static bool would_block(int fd) {
  int flags = fcntl(fd, F_GETFL);
  struct pollfd entry = {.fd = fd, .events = POLLIN};
  return flags >= 0 && !(flags & O_NONBLOCK) && poll(&entry, 1, WAIT_MILLISECONDS) <= 0;
}

static void make_progress(void) {
  closing = false;  // read() calls of UCX itself are not changed
  for (size_t i = 0; next.progress && i < MOST_WORKERS; i++)
    if (workers[i]) next.progress(workers[i]);
  closing = true;
}

EXPORT ssize_t read(int fd, void* buffer, size_t size) {
  while (closing && would_block(fd)) make_progress();
  return next.read ? next.read(fd, buffer, size) : syscall(SYS_read, fd, buffer, size);
}
