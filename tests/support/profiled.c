// SPDX-License-Identifier: Apache-2.0
//
// A program for the tests of the profiler. The first argument says what it does.
#include <mpi.h>
#ifndef SIMULATED
#include <pthread.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, peer;
static char buffer[1 << 21], other[1 << 21];

static void region(void) {
  int send[8] = {0}, receive[8];
  for (int i = 0; i < 4; i++) MPI_Allreduce(send, receive, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int part = 0; part < 2; part++) {
    MPI_Pcontrol(1);
    for (int i = 0; i < 5; i++) MPI_Allreduce(send, receive, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void waits(void) {
  MPI_Request requests[4];
  for (int i = 0; i < 2; i++) {
    MPI_Irecv(other + 4096 * i, 1000, MPI_CHAR, peer, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(buffer, 100 * (i + 1), MPI_CHAR, peer, i, MPI_COMM_WORLD, &requests[2 + i]);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  MPI_Request none = MPI_REQUEST_NULL;
  int flag;
  MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
  // Sends that are complete at once: MPICH gives them one handle.
  MPI_Request many[20];
  for (int i = 0; i < 10; i++) MPI_Irecv(other, 4096, MPI_CHAR, rank, 9, MPI_COMM_WORLD, &many[i]);
  for (int i = 0; i < 10; i++)
    MPI_Isend(buffer, 10 + i, MPI_CHAR, rank, 9, MPI_COMM_WORLD, &many[10 + i]);
  MPI_Waitall(20, many, MPI_STATUSES_IGNORE);
}

static void bins(void) {
  for (int bytes = 1; bytes <= 300; bytes++)
    MPI_Sendrecv(buffer, bytes, MPI_CHAR, peer, 0, other, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

#ifndef SIMULATED
enum { THREADS = 4, CALLS = 500 };

static void* talk(void* argument) {
  int tag = *(int*)argument;
  for (int i = 0; i < CALLS; i++) {
    MPI_Request request;
    MPI_Irecv(other + 8192 * tag, 64, MPI_CHAR, peer, tag, MPI_COMM_WORLD, &request);
    MPI_Send(buffer, 8 * (tag + 1), MPI_CHAR, peer, tag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return NULL;
}

static void threads(void) {
  pthread_t list[THREADS];
  int tags[THREADS];
  for (int i = 0; i < THREADS; i++) {
    tags[i] = i;
    pthread_create(&list[i], NULL, talk, &tags[i]);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(list[i], NULL);
}

#if MPI_VERSION >= 4
#define UNKNOWN MPI_Send_c
#else
int MPIX_Barrier_init(MPI_Comm, MPI_Info, MPI_Request*);
#define UNKNOWN MPIX_Barrier_init
#endif

static void unknown(void) {
  printf("%p\n", (void*)UNKNOWN);
}
#endif

// Rank 1 waits for a message: rank 0 sends it after a pause.
static void late(void) {
  for (int i = 0; i < 10; i++) {
    if (rank == 0) {
      double end = MPI_Wtime() + 1e-3;
#ifdef SIMULATED
      usleep(1000);
      (void)end;
#else
      while (MPI_Wtime() < end) continue;
#endif
      MPI_Send(buffer, 1 << 20, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(buffer, 1 << 20, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
#ifdef SIMULATED
  MPI_Init(&argc, &argv);
#else
  int provided;
  MPI_Init_thread(&argc, &argv, strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                  &provided);
  if (strcmp(what, "threads") == 0) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    if (provided == MPI_THREAD_MULTIPLE) threads();
    printf("multiple=%d\n", provided == MPI_THREAD_MULTIPLE);
  }
  if (strcmp(what, "unknown") == 0) unknown();
#endif
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  peer = 1 - rank;
  if (strcmp(what, "region") == 0) region();
  if (strcmp(what, "waits") == 0) waits();
  if (strcmp(what, "bins") == 0) bins();
  if (strcmp(what, "late") == 0) late();
  if (strcmp(what, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(what, "exit") == 0) _exit(0);
  MPI_Finalize();
  return 0;
}
