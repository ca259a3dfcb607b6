// SPDX-License-Identifier: Apache-2.0
//
// Passes the region that a program marks by MPI_Pcontrol to TAU, which ignores these marks.
// Preloaded together with TAU's library: MPI_Pcontrol(1) starts TAU's timer "measured region",
// MPI_Pcontrol(0) stops it.
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

extern void Tau_start(const char* name) __attribute__((weak));
extern void Tau_stop(const char* name) __attribute__((weak));

void mpi_pcontrol_(const int* level);

static const char region[] = "measured region";
static bool inside = false;

int MPI_Pcontrol(const int level, ...) {
  if (Tau_start != NULL && Tau_stop != NULL) {
    if (level == 1 && !inside) {
      inside = true;
      Tau_start(region);
    } else if (level == 0 && inside) {
      inside = false;
      Tau_stop(region);
    }
  }
  return MPI_SUCCESS;
}

void mpi_pcontrol_(const int* level) {
  MPI_Pcontrol(*level);
}
