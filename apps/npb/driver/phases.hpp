// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <span>
#include <string>

#include "npb/driver/kernel.hpp"

// Also called from Fortran (npb_m): a phase is its index in Kernel::phases.
extern "C" {
void npb_phase_begin(int phase);
void npb_phase_end(int phase);
/// Sets all phases to zero. Kernels call it after the warm-up, where NASA clears the timers.
void npb_phases_clear();
}

namespace fabricbench::npb {

/// Enables the timing of all phases. Without it only the first phase is timed, and begin and end of
/// the others cost a branch.
void enable_phases();

/// Seconds in the first phase on the slowest rank; valid on rank 0. Collective.
[[nodiscard]] double timed_seconds(MPI_Comm comm);

/// NPB's table: minimum, maximum and average over ranks of every phase, and of computation and
/// communication in total; on rank 0, empty elsewhere. Collective.
[[nodiscard]] std::string phases_report(std::span<const Phase> phases, MPI_Comm comm);

}  // namespace fabricbench::npb
