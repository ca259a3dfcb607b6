// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

namespace fabricbench::npb {

/// Throws UsageError on all ranks if a node's ranks need more than `limit_bytes`, or than the node
/// has available. Collective.
void check_memory(std::int64_t bytes_per_rank, std::optional<std::int64_t> limit_bytes,
                  MPI_Comm comm);

}  // namespace fabricbench::npb
