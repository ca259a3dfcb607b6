// SPDX-License-Identifier: Apache-2.0
//
// Counts the MPI calls of one rank of a program by function, peer and message
// size. Link the object into a program that is built for SimGrid's SMPI, in C,
// C++ or Fortran. MPI_Finalize appends one line per counter to the file
// MESSAGE_COUNTS: rank, function, peer, bytes, calls.
//
// The peer is a rank of MPI_COMM_WORLD: the destination or source of a message,
// the root of a rooted collective, each rank of the communicator of
// MPI_Alltoall(v), and -1 otherwise. The bytes are those of one message; of
// MPI_Alltoall(v) those that the call sends to the peer.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 1 << 14 };

struct counter {
  const char* function;
  int peer;
  long long bytes;
  long long calls;
};

// SMPI gives each rank its own copy of static variables.
static struct counter counters[SLOTS];
static MPI_Comm cached = MPI_COMM_NULL;
static int* world_ranks;

/// Does nothing if the calls are not requested.
static void count(const char* function, int peer, long long bytes) {
  if (!getenv("MESSAGE_COUNTS")) return;
  unsigned long long key = (unsigned long long)(size_t)function;
  key = (key * 31 + (unsigned)peer) * 0x9E3779B97F4A7C15ULL + (unsigned long long)bytes;
  key *= 0x9E3779B97F4A7C15ULL;
  for (unsigned i = (unsigned)(key >> 50), tries = 0; tries < SLOTS; i++, tries++) {
    struct counter* counter = &counters[i % SLOTS];
    if (!counter->calls) *counter = (struct counter){function, peer, bytes, 0};
    if (counter->function == function && counter->peer == peer && counter->bytes == bytes) {
      counter->calls++;
      return;
    }
  }
  fprintf(stderr, "message_counts.c: more than %d counters\n", SLOTS);
  abort();
}

static long long bytes_of(long long number, MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  return number * size;
}

static int ranks_of(MPI_Comm comm) {
  int ranks;
  PMPI_Comm_size(comm, &ranks);
  return ranks;
}

/// Returns the rank of MPI_COMM_WORLD that is `rank` in `comm`.
static int world_rank(MPI_Comm comm, int rank) {
  if (comm == MPI_COMM_WORLD || rank < 0) return rank;
  if (comm != cached) {
    int ranks = ranks_of(comm);
    int* own = malloc((size_t)ranks * sizeof *own);
    world_ranks = realloc(world_ranks, (size_t)ranks * sizeof *world_ranks);
    if (!own || !world_ranks) abort();
    for (int i = 0; i < ranks; i++) own[i] = i;
    MPI_Group group, world;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, ranks, own, world, world_ranks);
    free(own);
    cached = comm;
  }
  return world_ranks[rank];
}

int MPI_Send(const void* buffer, int number, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count("MPI_Send", world_rank(comm, to), bytes_of(number, type));
  return PMPI_Send(buffer, number, type, to, tag, comm);
}

int MPI_Irecv(void* buffer, int number, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  count("MPI_Irecv", world_rank(comm, from), bytes_of(number, type));
  return PMPI_Irecv(buffer, number, type, from, tag, comm, request);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  count("MPI_Wait", -1, 0);
  return PMPI_Wait(request, status);
}

int MPI_Sendrecv(const void* send, int sent, MPI_Datatype send_type, int to, int send_tag,
                 void* receive, int received, MPI_Datatype receive_type, int from, int tag,
                 MPI_Comm comm, MPI_Status* status) {
  count("MPI_Sendrecv", world_rank(comm, to), bytes_of(sent, send_type));
  return PMPI_Sendrecv(send, sent, send_type, to, send_tag, receive, received, receive_type, from,
                       tag, comm, status);
}

int MPI_Barrier(MPI_Comm comm) {
  count("MPI_Barrier", -1, 0);
  return PMPI_Barrier(comm);
}

int MPI_Bcast(void* buffer, int number, MPI_Datatype type, int root, MPI_Comm comm) {
  count("MPI_Bcast", world_rank(comm, root), bytes_of(number, type));
  return PMPI_Bcast(buffer, number, type, root, comm);
}

int MPI_Reduce(const void* send, void* receive, int number, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  count("MPI_Reduce", world_rank(comm, root), bytes_of(number, type));
  return PMPI_Reduce(send, receive, number, type, op, root, comm);
}

int MPI_Allreduce(const void* send, void* receive, int number, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  count("MPI_Allreduce", -1, bytes_of(number, type));
  return PMPI_Allreduce(send, receive, number, type, op, comm);
}

int MPI_Exscan(const void* send, void* receive, int number, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  count("MPI_Exscan", -1, bytes_of(number, type));
  return PMPI_Exscan(send, receive, number, type, op, comm);
}

int MPI_Alltoall(const void* send, int sent, MPI_Datatype send_type, void* receive, int received,
                 MPI_Datatype receive_type, MPI_Comm comm) {
  for (int rank = 0; rank < ranks_of(comm); rank++) {
    count("MPI_Alltoall", world_rank(comm, rank), bytes_of(sent, send_type));
  }
  return PMPI_Alltoall(send, sent, send_type, receive, received, receive_type, comm);
}

int MPI_Alltoallv(const void* send, const int* sent, const int* send_begins, MPI_Datatype send_type,
                  void* receive, const int* received, const int* receive_begins,
                  MPI_Datatype receive_type, MPI_Comm comm) {
  for (int rank = 0; rank < ranks_of(comm); rank++) {
    count("MPI_Alltoallv", world_rank(comm, rank), bytes_of(sent[rank], send_type));
  }
  return PMPI_Alltoallv(send, sent, send_begins, send_type, receive, received, receive_begins,
                        receive_type, comm);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part) {
  count("MPI_Comm_split", -1, 0);
  return PMPI_Comm_split(comm, color, key, part);
}

int MPI_Finalize(void) {
  const char* name = getenv("MESSAGE_COUNTS");
  FILE* file = name ? fopen(name, "a") : NULL;
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; file && i < SLOTS; i++) {
    const struct counter* counter = &counters[i];
    if (!counter->calls) continue;
    fprintf(file, "%d %s %d %lld %lld\n", rank, counter->function, counter->peer, counter->bytes,
            counter->calls);
  }
  if (file) fclose(file);
  return PMPI_Finalize();
}

// Fortran. SMPI's handles are integers that PMPI converts; a status is not
// read.
void mpi_send_(void* buffer, int* number, int* type, int* to, int* tag, int* comm, int* error) {
  *error = MPI_Send(buffer, *number, PMPI_Type_f2c(*type), *to, *tag, PMPI_Comm_f2c(*comm));
}

void mpi_irecv_(void* buffer, int* number, int* type, int* from, int* tag, int* comm, int* request,
                int* error) {
  MPI_Request started = MPI_REQUEST_NULL;
  *error =
      MPI_Irecv(buffer, *number, PMPI_Type_f2c(*type), *from, *tag, PMPI_Comm_f2c(*comm), &started);
  *request = PMPI_Request_c2f(started);
}

void mpi_wait_(int* request, int* status, int* error) {
  (void)status;
  MPI_Request waited = PMPI_Request_f2c(*request);
  *error = MPI_Wait(&waited, MPI_STATUS_IGNORE);
  *request = PMPI_Request_c2f(MPI_REQUEST_NULL);
}

void mpi_barrier_(int* comm, int* error) {
  *error = MPI_Barrier(PMPI_Comm_f2c(*comm));
}

void mpi_bcast_(void* buffer, int* number, int* type, int* root, int* comm, int* error) {
  *error = MPI_Bcast(buffer, *number, PMPI_Type_f2c(*type), *root, PMPI_Comm_f2c(*comm));
}

void mpi_reduce_(void* send, void* receive, int* number, int* type, int* op, int* root, int* comm,
                 int* error) {
  *error = MPI_Reduce(send, receive, *number, PMPI_Type_f2c(*type), PMPI_Op_f2c(*op), *root,
                      PMPI_Comm_f2c(*comm));
}

void mpi_alltoall_(void* send, int* sent, int* send_type, void* receive, int* received,
                   int* receive_type, int* comm, int* error) {
  *error = MPI_Alltoall(send, *sent, PMPI_Type_f2c(*send_type), receive, *received,
                        PMPI_Type_f2c(*receive_type), PMPI_Comm_f2c(*comm));
}

void mpi_comm_split_(int* comm, int* color, int* key, int* part, int* error) {
  MPI_Comm made = MPI_COMM_NULL;
  *error = MPI_Comm_split(PMPI_Comm_f2c(*comm), *color, *key, &made);
  *part = PMPI_Comm_c2f(made);
}

void mpi_finalize_(int* error) {
  *error = MPI_Finalize();
}
