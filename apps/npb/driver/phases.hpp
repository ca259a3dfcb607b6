// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <span>
#include <string>

#include "npb/driver/kernel.hpp"

// Fortran calls these functions too (npb_m). `phase` is an index in Kernel::phases. The first phase
// is the timed region: MPI_Pcontrol(1) and MPI_Pcontrol(0) mark it for profilers, outside the time
// that is measured.
extern "C" {
void npb_phase_begin(int phase);
void npb_phase_end(int phase);
/// Resets all phases to zero. Kernels call it after the warm-up, as NASA's programs do.
void npb_phases_clear();
}

namespace fabricbench::npb {

/// Enables the timing of all phases. Otherwise only the first phase is timed, and begin and end of
/// the others cost one branch each.
void enable_phases();

/// Returns the seconds of the first phase on the slowest rank; valid on rank 0. Collective.
[[nodiscard]] double timed_seconds(MPI_Comm comm);

/// Returns NPB's table of minimum, maximum and average over the ranks for every phase and for all
/// computation and communication. Empty on ranks other than 0. Collective.
[[nodiscard]] std::string phases_report(std::span<const Phase> phases, MPI_Comm comm);

}  // namespace fabricbench::npb
