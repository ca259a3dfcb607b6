// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>

namespace fabricbench {

/// This rank's place among all ranks.
struct World {
  MPI_Comm comm;
  int rank;
  int ranks;
};

/// MPI_COMM_WORLD; sends nothing.
[[nodiscard]] World mpi_world();

/// Whether a launcher started this process as one of several (PMI, PMIx, Open MPI, Slurm), told
/// from the environment before MPI_Init.
[[nodiscard]] bool started_by_launcher();

/// Throws UsageError if FABRICBENCH_EXPECT_RANKS is set and is not the number of ranks.
void check_expected_ranks(const World& world);

/// Names of all ranks' processors in rank order, comma-separated, on rank 0; empty elsewhere.
/// Collective.
[[nodiscard]] std::string gather_hosts(const World& world);

/// The largest number of ranks whose processors have the same name, on all ranks. Collective.
[[nodiscard]] int most_ranks_of_a_node(const World& world);

/// First line of MPI_Get_library_version, blanks and control characters folded into single blanks.
[[nodiscard]] std::string mpi_library();

/// Version of the MPI standard, as 3.1.
[[nodiscard]] std::string mpi_standard();

}  // namespace fabricbench
