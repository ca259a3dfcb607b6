// SPDX-License-Identifier: Apache-2.0
//
// A program for the tests of injected delays: each round sends messages around
// all ranks, and the arguments say how they are received. Prints the time of
// the fastest round in microseconds for each method.
//   injected ROUNDS BYTES HOPS METHOD...
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 4, LARGEST = 1 << 20 };

static int rank, ranks, before, after, bytes;
static char out[LARGEST], in[MANY][LARGEST];
static MPI_Request requests[MANY + 1], persistent;
#define world MPI_COMM_WORLD

static void post(int count) {
  for (int i = 0; i < count; i++)
    MPI_Irecv(in[i], LARGEST, MPI_CHAR, i % 2 ? MPI_ANY_SOURCE : before, i, world, &requests[i]);
}

static void recv(void) {
  MPI_Recv(in[0], LARGEST, MPI_CHAR, before, 0, world, MPI_STATUS_IGNORE);
}

static void any_source(void) {
  MPI_Status status;
  MPI_Recv(in[0], LARGEST, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
  int count;
  MPI_Get_count(&status, MPI_CHAR, &count);
  if (status.MPI_SOURCE != before || count != bytes) MPI_Abort(world, 1);
}

static void wait_one(void) {
  post(1);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void test(void) {
  int flag = 0;
  MPI_Status status;
  post(1);
  while (!flag) MPI_Test(&requests[0], &flag, &status);
  int count;
  MPI_Get_count(&status, MPI_CHAR, &count);
  if (requests[0] != MPI_REQUEST_NULL || status.MPI_SOURCE != before || count != bytes)
    MPI_Abort(world, 2);
}

static void start(void) {
  MPI_Start(&persistent);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
}

static void probe(void) {
  MPI_Probe(before, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
  recv();
}

static void iprobe(void) {
  int flag = 0;
  while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 0, world, &flag, MPI_STATUS_IGNORE);
  wait_one();
}

static void mprobe(void) {
  MPI_Message message;
  MPI_Mprobe(before, 0, world, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(in[0], LARGEST, MPI_CHAR, &message, MPI_STATUS_IGNORE);
}

static void improbe(void) {
  MPI_Message message;
  int flag = 0;
  while (!flag) MPI_Improbe(before, 0, world, &flag, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(in[0], LARGEST, MPI_CHAR, &message, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void waitall(void) {
  post(MANY);
  MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

static void waits(void) {
  post(MANY);
  for (int i = 0; i < MANY; i++) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

// The other calls complete MANY receives one by one, each of them once.
static void add(int* seen, int index) {
  if (index < 0 || index >= MANY || seen[index]++ || requests[index] != MPI_REQUEST_NULL)
    MPI_Abort(world, 3);
}

static void waitany(void) {
  int seen[MANY] = {0}, index;
  post(MANY);
  for (int i = 0; i < MANY; i++) {
    MPI_Waitany(MANY, requests, &index, MPI_STATUS_IGNORE);
    add(seen, index);
  }
  MPI_Waitany(MANY, requests, &index, MPI_STATUS_IGNORE);
  if (index != MPI_UNDEFINED) MPI_Abort(world, 4);
}

static void waitsome(void) {
  int seen[MANY] = {0}, count, indices[MANY];
  post(MANY);
  for (int done = 0; done < MANY; done += count) {
    MPI_Waitsome(MANY, requests, &count, indices, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++) add(seen, indices[i]);
  }
}

static void testany(void) {
  int seen[MANY] = {0}, index, flag;
  post(MANY);
  for (int done = 0; done < MANY; done += flag) {
    MPI_Testany(MANY, requests, &index, &flag, MPI_STATUS_IGNORE);
    if (flag) add(seen, index);
  }
}

static void testsome(void) {
  int seen[MANY] = {0}, count, indices[MANY];
  post(MANY);
  for (int done = 0; done < MANY; done += count) {
    MPI_Testsome(MANY, requests, &count, indices, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++) add(seen, indices[i]);
  }
}

static void testall(void) {
  int flag = 0;
  post(MANY);
  while (!flag) MPI_Testall(MANY, requests, &flag, MPI_STATUSES_IGNORE);
}

static const struct {
  const char* name;
  void (*receive)(void);
  int messages;
} methods[] = {
    {"recv", recv, 1},
    {"any_source", any_source, 1},
    {"wait", wait_one, 1},
    {"test", test, 1},
    {"start", start, 1},
    {"probe", probe, 1},
    {"iprobe", iprobe, 1},
    {"mprobe", mprobe, 1},
    {"improbe", improbe, 1},
    {"waitall", waitall, MANY},
    {"waits", waits, MANY},
    {"waitany", waitany, MANY},
    {"waitsome", waitsome, MANY},
    {"testany", testany, MANY},
    {"testsome", testsome, MANY},
    {"testall", testall, MANY},
};

static void send(int messages) {
  for (int i = 0; i < messages; i++) MPI_Send(out, bytes, MPI_CHAR, after, i, world);
}

// One message around all ranks: as many receives one after the other as there
// are ranks.
static void round_of(const char* name) {
  if (strcmp(name, "sendrecv") == 0) {
    MPI_Sendrecv(out, bytes, MPI_CHAR, after, 0, in[0], LARGEST, MPI_CHAR, before, 0, world,
                 MPI_STATUS_IGNORE);
    return;
  }
  if (strcmp(name, "self") == 0) {
    MPI_Sendrecv(out, bytes, MPI_CHAR, rank, 0, in[0], LARGEST, MPI_CHAR, rank, 0, world,
                 MPI_STATUS_IGNORE);
    MPI_Recv(in[0], LARGEST, MPI_CHAR, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);
    return;
  }
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    if (strcmp(name, methods[i].name) != 0) continue;
    if (rank == 0) send(methods[i].messages);
    methods[i].receive();
    if (rank != 0) send(methods[i].messages);
    return;
  }
  MPI_Abort(world, 5);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  before = (rank + ranks - 1) % ranks;
  after = (rank + 1) % ranks;
  int rounds = atoi(argv[1]), hops = atoi(argv[3]);
  bytes = atoi(argv[2]);
  MPI_Recv_init(in[0], LARGEST, MPI_CHAR, before, 0, world, &persistent);
  for (int at = 4; at < argc; at++) {
    double best = 1e9;
    for (int i = 0; i < rounds; i++) {
      MPI_Barrier(world);
      double begin = MPI_Wtime();
      for (int hop = 0; hop < hops; hop++) round_of(argv[at]);
      double seconds = MPI_Wtime() - begin;
      if (seconds < best) best = seconds;
    }
    if (rank == 0) printf("%s %.3f\n", argv[at], 1e6 * best);
  }
  MPI_Request_free(&persistent);
  MPI_Finalize();
  return 0;
}
