// SPDX-License-Identifier: Apache-2.0
//
// What the generated Fortran entry points use. They pass all arguments on unchanged, so no sentinel
// is translated: the addresses of MPI_STATUS_IGNORE and MPI_IN_PLACE are only compared.
#ifndef FABRICBENCH_PROFILER_FORTRAN_H
#define FABRICBENCH_PROFILER_FORTRAN_H

#include "profiler/wrap.h"

// TS 29113 bindings (_f08ts_) pass a choice buffer by descriptor, whose first member is the
// address.
enum binding { BINDING_ADDRESSES, BINDING_DESCRIPTORS };

// Stores the address of the MPI library's function. Ends the program if there is none.
void fortran_next(void* function, const char* name);
bool fortran_in_place(const void* buffer, enum binding binding);
// Copies the status. Returns null if it is MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE.
const MPI_Status* fortran_statuses(struct thread* thread, const void* statuses, int count);

// Returns 1, or 0 if the indices count from 0, as those of MPICH 4.0's module mpi_f08 do.
int fortran_first_index(const struct thread* thread, const void* requests, int count,
                        const void* indices, int number);

static inline int fortran_integer(const void* argument) {
  return (int)*(const MPI_Fint*)argument;
}

static inline bool fortran_succeeded(const void* ierror) {
  return !ierror || fortran_integer(ierror) == MPI_SUCCESS;
}

static inline void fortran_handles(uint64_t* handles, const void* requests, int count) {
  const MPI_Fint* list = requests;
  for (int i = 0; i < count; i++) handles[i] = handle_of(MPI_Request_f2c(list[i]));
}

#endif
