// SPDX-License-Identifier: Apache-2.0
//
// What the files of the injection share: the pending receives, the probed messages and the serial
// link. inject_link.c has them, under one lock.
#ifndef FABRICBENCH_PROFILER_INJECT_LINK_H
#define FABRICBENCH_PROFILER_INJECT_LINK_H

#include "profiler/inject.h"

#ifdef FABRICBENCH_PROFILER_SMPI
enum { CAN_OBSERVE = false };
#else
enum { CAN_OBSERVE = true };
#endif

// A receive, or a persistent send, between its start and its completion.
struct entry {
  uint64_t handle, bytes;
  uint64_t due;                // when the program may see the message, if it has arrived
  const struct thread* owner;  // whose call completes it; other threads must not touch it
  int source, self;            // the requested rank, and the own one in the communicator
  bool sends, persistent, active, arrived, hidden, remote;
};

void link_lock(void);  // in a program with several threads that call MPI
void link_unlock(void);

// The requests that the injection knows. The functions need the lock, except link_add.
void link_add(const struct entry* entry);
struct entry* link_find(uint64_t handle);
struct entry* link_find_receive(uint64_t handle);  // an active one, or null
void link_remove(struct entry* entry);
void link_release(const struct thread* thread);  // takes the lock; ends the ownership of a thread
void link_arrive(struct entry* entry, const MPI_Status* status, uint64_t now);

// Observes the arrivals of all pending receives. Takes the lock.
void link_observe(const struct thread* thread);
uint64_t link_now(void);  // nanoseconds
void link_pass_time(uint64_t ns);
void link_wait_until(const struct thread* thread, uint64_t due);

// Returns when a message that was probed may be seen; it arrives now if it was not probed before.
uint64_t link_probed(uint64_t comm, int source, int tag, uint64_t bytes, uint64_t now);
// Removes a probed message, and returns when it may be seen; 0 if there is none. Takes the lock.
uint64_t link_take_probed(uint64_t comm, int source, int tag);
bool link_is_remote(int source, int self);

#endif
