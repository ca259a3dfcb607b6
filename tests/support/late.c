// SPDX-License-Identifier: Apache-2.0
//
// Operations whose partner enters late, for the tests of the profiler's time stamps. The first
// argument says which; the second is the pause in microseconds. Simulated ranks pause in simulated
// time. Rank 0 prints the time of the operations in seconds.
#include <mpi.h>
#ifndef SIMULATED
#include <pthread.h>
#endif
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 1 << 22, SMALL = 64 };

static int rank, size;
static useconds_t late_us = 50000;
static char buffer[LARGE], other[LARGE];

static void synchronize(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

#ifdef SIMULATED
// Returns at the same simulated time on all ranks. They leave a barrier at different times.
static void align(void) {
  double now = MPI_Wtime(), latest;
  MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  long ns = (long)(1e9 * (latest + 0.1 - MPI_Wtime()));
  nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}
#endif

static void send(int bytes, int to, int tag, MPI_Comm comm) {
  MPI_Send(buffer, bytes, MPI_CHAR, to, tag, comm);
}

static void receive(int from, int tag, MPI_Comm comm) {
  MPI_Recv(other, LARGE, MPI_CHAR, from, tag, comm, MPI_STATUS_IGNORE);
}

// Rank 1 sends late; the second message waits for its receiver.
static void late_sender(void) {
  if (rank == 1) {
    usleep(late_us);
    send(SMALL, 0, 0, MPI_COMM_WORLD);
    send(2 * SMALL, 0, 1, MPI_COMM_WORLD);
  } else if (rank == 0) {
    receive(1, 0, MPI_COMM_WORLD);
    usleep(late_us);
    receive(1, 1, MPI_COMM_WORLD);
  }
}

// Rank 0 receives late. The message is too large to be sent before.
static void late_receiver(void) {
  if (rank == 1) {
    send(LARGE, 0, 0, MPI_COMM_WORLD);
  } else if (rank == 0) {
    usleep(late_us);
    receive(1, 0, MPI_COMM_WORLD);
  }
}

// Rank 0 completes three receives by one call: one message is early, two are late.
static void late_of_several(void) {
  MPI_Request requests[3];
  if (rank == 0) {
    for (int i = 0; i < 3; i++)
      MPI_Irecv(other + i * SMALL, SMALL, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  } else if (rank == 1) {
    send(SMALL, 0, 0, MPI_COMM_WORLD);
    for (int i = 1; i < 3; i++) {
      usleep(late_us);
      send(SMALL, 0, i, MPI_COMM_WORLD);
    }
  }
}

// The first message has another tag; both receives take any sender and tag.
static void wildcards(void) {
  if (rank == 1) {
    send(SMALL, 0, 7, MPI_COMM_WORLD);
    usleep(late_us);
    send(2 * SMALL, 0, 5, MPI_COMM_WORLD);
  } else if (rank == 0) {
    for (int i = 0; i < 2; i++) receive(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD);
  }
}

// A receive is cancelled, and its request is freed: no status says so.
static void cancelled(void) {
  if (rank == 0) {
    MPI_Request request;
    receive(1, 3, MPI_COMM_WORLD);
    MPI_Irecv(other, SMALL, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  if (rank == 1) send(SMALL, 0, 3, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 2; i++) {
    if (rank == 1) send(2 * SMALL, 0, 3, MPI_COMM_WORLD);
    if (rank == 0) receive(1, 3, MPI_COMM_WORLD);
  }
}

static void persistent(void) {
  MPI_Request request;
  for (int i = 0; i < 2 && rank < 2; i++) {
    if (i == 0 && rank == 0) MPI_Recv_init(other, SMALL, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &request);
    if (i == 0 && rank == 1) MPI_Send_init(buffer, SMALL, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &request);
    if (rank == 1) usleep(late_us);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (i == 1) MPI_Request_free(&request);
  }
}

static void exchange(void) {
  if (rank > 1) return;
  if (rank == 1) usleep(late_us);
  MPI_Sendrecv(buffer, SMALL, MPI_CHAR, 1 - rank, 0, other, SMALL, MPI_CHAR, 1 - rank, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void collectives(void) {
  int one = 1, sum;
  if (rank == 1) usleep(late_us);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 1) usleep(late_us);
  MPI_Bcast(buffer, SMALL, MPI_CHAR, 1, MPI_COMM_WORLD);
  synchronize();
  if (rank == 1) usleep(late_us);
  MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
#ifndef SIMULATED
  MPI_Request request;
  if (rank == 1) usleep(late_us);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
}

// Two communicators of the same ranks, and one of each rank's own. The ranks use the first two in
// different orders and free one before MPI_Finalize.
static void communicators(void) {
  MPI_Comm first, second, alone;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
  if (rank == 1) {
    usleep(late_us);
    send(SMALL, 0, 0, second);
    send(2 * SMALL, 0, 0, first);
  } else if (rank == 0) {
    receive(1, 0, second);
    receive(1, 0, first);
  }
  MPI_Barrier(alone);
  if (rank == 1) usleep(late_us);
  MPI_Barrier(first);
  MPI_Comm_free(&first);
  MPI_Comm_dup(second, &first);
  MPI_Barrier(first);
}

static void no_partner(void) {
  send(SMALL, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  receive(MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void pingpong(void) {
  for (int bytes = 8; bytes <= 1 << 15; bytes *= 8)
    for (int i = 0; i < 10 && rank < 2; i++) {
      if (rank == 0) send(bytes, 1, 0, MPI_COMM_WORLD);
      receive(1 - rank, 0, MPI_COMM_WORLD);
      if (rank == 1) send(bytes, 0, 0, MPI_COMM_WORLD);
    }
}

static void ring(void) {
  for (int i = 0; i < 10; i++)
    MPI_Sendrecv(buffer, 1 << 14, MPI_CHAR, (rank + 1) % size, 0, other, 1 << 14, MPI_CHAR,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void alltoall(void) {
  for (int i = 0; i < 10; i++)
    MPI_Alltoall(buffer, 4096, MPI_CHAR, other, 4096, MPI_CHAR, MPI_COMM_WORLD);
}

// Each rank's turn is late by the pause times its number, then all meet.
static void imbalanced(void) {
  for (int i = 0; i < 10; i++) {
    usleep(late_us * (useconds_t)rank);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

#ifndef SIMULATED
static void* talk(void* argument) {
  int tag = *(int*)argument;
  char received[SMALL];
  if (rank == 1) {
    usleep(late_us);
    send(SMALL, 0, tag, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(received, SMALL, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return NULL;
}

static void talk_in_threads(int second_tag) {
  pthread_t second;
  int tags[2] = {0, second_tag};
  pthread_create(&second, NULL, talk, &tags[1]);
  talk(&tags[0]);
  pthread_join(second, NULL);
}

// Two threads of each rank talk. With one tag nobody knows which message belongs to which thread.
static void threads(void) {
  talk_in_threads(1);
}

static void threads_one_tag(void) {
  talk_in_threads(0);
}
#endif

static const struct {
  const char* name;
  void (*run)(void);
} modes[] = {{"late_sender", late_sender},
             {"late_receiver", late_receiver},
             {"late_of_several", late_of_several},
             {"wildcards", wildcards},
             {"cancelled", cancelled},
             {"persistent", persistent},
             {"exchange", exchange},
             {"collectives", collectives},
             {"communicators", communicators},
             {"no_partner", no_partner},
             {"pingpong", pingpong},
             {"ring", ring},
             {"alltoall", alltoall},
#ifndef SIMULATED
             {"threads", threads},
             {"threads_one_tag", threads_one_tag},
#endif
             {"imbalanced", imbalanced}};

int main(int argc, char** argv) {
#ifdef SIMULATED
  MPI_Init(&argc, &argv);
#else
  bool threaded = argc > 1 && strncmp(argv[1], "threads", 7) == 0;
  int provided;
  MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (threaded && provided != MPI_THREAD_MULTIPLE) {
    puts("no MPI_THREAD_MULTIPLE");
    return MPI_Finalize();
  }
#endif
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2) late_us = (useconds_t)strtoul(argv[2], NULL, 10);
  synchronize();
#ifdef SIMULATED
  align();
#endif
  MPI_Pcontrol(1);
  double start = MPI_Wtime();
  for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof modes[0]; i++)
    if (strcmp(argv[1], modes[i].name) == 0) modes[i].run();
  double end = MPI_Wtime();
  MPI_Pcontrol(0);
  if (rank == 0) printf("%.9f s\n", end - start);
  MPI_Finalize();
  return 0;
}
