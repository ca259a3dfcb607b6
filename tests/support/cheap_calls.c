// SPDX-License-Identifier: Apache-2.0
//
// Prints the time of cheap calls of MPI on one rank, in nanoseconds per call: probe, send and
// receive, wait.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 20 };

static double best(double (*loop)(int), int calls) {
  double least = 1e9;
  for (int i = 0; i < PARTS; i++) {
    double each = loop(calls / PARTS) / (calls / PARTS) * 1e9;
    if (each < least) least = each;
  }
  return least;
}

static double probe(int count) {
  int flag;
  double begin = MPI_Wtime();
  for (int i = 0; i < count; i++) MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  return MPI_Wtime() - begin;
}

// Four calls: Irecv, Send, Wait, and a Test of a null request.
static double message(int count) {
  char sent[8] = "", received[8];
  double begin = MPI_Wtime();
  for (int i = 0; i < count; i++) {
    MPI_Request request;
    int flag;
    MPI_Irecv(received, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(sent, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  return (MPI_Wtime() - begin) / 4;
}

int main(int argc, char** argv) {
  int calls = argc > 1 ? atoi(argv[1]) : 200000;
  MPI_Init(&argc, &argv);
  printf("probe=%.3f\n", best(probe, calls));
  printf("message=%.3f\n", best(message, calls));
  MPI_Finalize();
  return 0;
}
