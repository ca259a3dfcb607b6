// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>

namespace fabricbench {

/// This rank and the number of all ranks.
struct World {
  MPI_Comm comm;
  int rank;
  int ranks;
};

/// Returns rank and size in MPI_COMM_WORLD. Sends no message.
[[nodiscard]] World mpi_world();

/// Whether a launcher started this process as one of several, according to the variables of
/// PMI, PMIx, Open MPI and Slurm. Needs no MPI.
[[nodiscard]] bool started_by_launcher();

/// Throws UsageError if FABRICBENCH_EXPECT_RANKS is set and is not the number of ranks.
void check_expected_ranks(const World& world);

/// The processor names of all ranks in rank order, comma-separated, on rank 0; empty on other
/// ranks. Collective.
[[nodiscard]] std::string gather_hosts(const World& world);

/// The largest number of ranks whose processors have the same name, on all ranks. Collective.
[[nodiscard]] int most_ranks_of_a_node(const World& world);

/// The first line of MPI_Get_library_version; blanks and control characters become single
/// blanks.
[[nodiscard]] std::string mpi_library();

/// The version of the MPI standard, such as 3.1.
[[nodiscard]] std::string mpi_standard();

}  // namespace fabricbench
