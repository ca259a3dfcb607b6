// SPDX-License-Identifier: Apache-2.0
//
// Delays that are injected where a message is received, to measure how much an application's run
// time depends on the network.
//
// Environment
// - FABRICBENCH_INJECT=latency=5us,per_byte=0.2ns: a message is withheld from the program until
//   latency + per_byte * bytes after its arrival was first observed. Messages that have arrived at
//   the same time share one latency, and their delays per byte add up, as on a serial link. Either
//   delay may be left out.
// - FABRICBENCH_INJECT=overhead=2us: the processor spins for this time at the start of each message
//   and at the end of each received message.
//
// Blocking receives spin until the delay is over. MPI_Test*, MPI_Iprobe and MPI_Improbe do not
// report a withheld message. MPI_Waitany, MPI_Waitsome and MPI_Probe wait for a message whose delay
// is over. Messages of a rank to itself and to MPI_PROC_NULL have no delay. Nothing is injected
// into collectives, one-sided communication and MPI-IO.
//
// The arrival of a message is observed while one of these functions runs. A message that arrives
// before its receive is posted is observed when the receive or a probe is called.
//
// On SimGrid, whose MPI_Request_get_status does not report arrivals, a message arrives when the
// call that completes it ends. Two calls that follow each other have one delay each, and MPI_Test*
// and MPI_Wait* that complete a receive wait for the end of the delay.
#ifndef FABRICBENCH_PROFILER_INJECT_H
#define FABRICBENCH_PROFILER_INJECT_H

#include "profiler/profiler.h"

struct injector {
  bool active;
  bool withholds;  // latency or delay per byte
  bool malformed;
  uint64_t latency_ns, overhead_ns;
  double ns_per_byte;
  char text[128];
};

extern struct injector injector;

void inject_read(void);  // reads the environment
// After MPI_Init. Ends the program if the variable is malformed: rank 0 prints the reason.
void inject_demand_valid(void);

// ---- a blocking receive, and the start of a send
void inject_received(struct thread* thread, MPI_Comm comm, int source, int tag, uint64_t bytes,
                     const MPI_Status* status);
void inject_send(struct thread* thread, MPI_Comm comm, int dest);

// ---- requests; the functions without an argument for handles use `thread->handles`
void inject_posted(struct thread* thread, MPI_Request handle, MPI_Comm comm, int source, int tag,
                   uint64_t bytes, bool persistent);
// A receive of a message that a matched probe returned: its delay is over.
void inject_posted_matched(MPI_Request handle, uint64_t bytes);
void inject_send_init(struct thread* thread, MPI_Request handle, MPI_Comm comm, int dest);
void inject_starting(struct thread* thread, int count);  // before MPI_Start*
void inject_started(struct thread* thread, int count);   // after MPI_Start*
void inject_forget(uint64_t handle);

// Before MPI_Wait and MPI_Waitall: observes arrivals until all receives of the call have arrived.
void inject_watch(struct thread* thread, int count);
// Before MPI_Test and MPI_Testall. Returns false if a receive has not arrived or is withheld: the
// call must then report that nothing is complete.
bool inject_ready(struct thread* thread, int count);
// Before MPI_Waitany, MPI_Waitsome and their tests: replaces withheld requests of the array by
// MPI_REQUEST_NULL, their number is `thread->hidden`. Returns false if a blocking call would block.
bool inject_hide(struct thread* thread, void* requests, int count, bool fortran, bool blocks);
void inject_show(struct thread* thread, void* requests, int count, bool fortran);
// After these calls: waits until the delays of the completed receives are over. A call that failed
// ends the observation of its requests.
void inject_completed(struct thread* thread, const struct completion* completion, bool succeeded);

// ---- probes
// Returns true if no message is there or if it is withheld.
bool inject_withholds_probe(struct thread* thread, MPI_Comm comm, int source, int tag);
// After a matched probe, which has taken the message that was probed last.
void inject_matched(struct thread* thread, MPI_Comm comm);

#endif
