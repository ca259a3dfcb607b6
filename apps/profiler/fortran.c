// SPDX-License-Identifier: Apache-2.0
#include "profiler/fortran.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"

enum { SENTINELS = 16 };
static const void* ignored[SENTINELS];
static const void* in_place[SENTINELS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

void fortran_next(void* function, const char* name) {
  void* address = dlsym(RTLD_NEXT, name);
  if (!address) {
    complain("fabricbench-profiler: %s is not in the MPI library of this program", name);
    abort();
  }
  memcpy(function, &address, sizeof address);
}

static void add(const void** list, const void* address) {
  if (!address) return;
  while (*list) list++;
  *list = address;
}

// MPICH and its derivatives: common block /MPIPRIV1/ MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE;
// /MPIPRIV2/ MPI_STATUSES_IGNORE. The module mpi_f08 has objects of its own. SimGrid has objects
// with the names of the constants.
static void find_sentinels(void) {
  const char* names[] = {"mpi_fortran_status_ignore_",
                         "mpi_fortran_statuses_ignore_",
                         "MPIR_F08_MPI_STATUS_IGNORE_OBJ",
                         "MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
                         "mpipriv2_",
                         "mpi_status_ignore_",
                         "mpi_statuses_ignore_"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    add(ignored, dlsym(RTLD_DEFAULT, names[i]));
  add(ignored, MPI_F_STATUS_IGNORE);
  add(ignored, MPI_F_STATUSES_IGNORE);
  const char* first = dlsym(RTLD_DEFAULT, "mpipriv1_");
  if (first) {
    add(in_place, first + sizeof(MPI_Fint));
    add(ignored, first + 2 * sizeof(MPI_Fint));
  }
  add(in_place, dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_"));
  add(in_place, dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_IN_PLACE"));
  add(in_place, dlsym(RTLD_DEFAULT, "mpi_in_place_"));
}

static bool is_in(const void* const* list, const void* address) {
  pthread_once(&once, find_sentinels);
  while (*list && *list != address) list++;
  return *list != NULL;
}

bool fortran_in_place(const void* buffer, enum binding binding) {
  return is_in(in_place, binding == BINDING_DESCRIPTORS ? *(const void* const*)buffer : buffer);
}

const MPI_Status* fortran_statuses(struct thread* thread, const void* statuses, int count) {
  if (!statuses || is_in(ignored, statuses)) return NULL;
  MPI_Status* copy = complete_statuses(thread, count);
  // The Fortran status is the C status, as an array of integers.
  if (count > 0) memcpy(copy, statuses, (size_t)count * sizeof *copy);
  return copy;
}

// A completed request is null now, unless it is persistent.
static bool are_completed(const struct thread* thread, const MPI_Fint* requests, int count,
                          const MPI_Fint* indices, int number, int first) {
  for (int i = 0; i < number; i++) {
    int index = (int)indices[i] - first;
    if (index < 0 || index >= count || !thread->handles[index] ||
        MPI_Request_f2c(requests[index]) != MPI_REQUEST_NULL)
      return false;
  }
  return true;
}

int fortran_first_index(const struct thread* thread, const void* requests, int count,
                        const void* indices, int number) {
  bool from_one = are_completed(thread, requests, count, indices, number, 1);
  return !from_one && are_completed(thread, requests, count, indices, number, 0) ? 0 : 1;
}
