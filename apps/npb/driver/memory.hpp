// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

namespace fabricbench::npb {

/// Throws UsageError on all ranks if the ranks of a node need more memory than `limit_bytes`, or
/// than is available on the node and in this process's control groups if no limit is set.
/// Collective.
void check_memory(std::int64_t bytes_per_rank, std::optional<std::int64_t> limit_bytes,
                  MPI_Comm comm);

}  // namespace fabricbench::npb
