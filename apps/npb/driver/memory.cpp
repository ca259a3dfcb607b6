// SPDX-License-Identifier: Apache-2.0
#include "npb/driver/memory.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>

#include "common/memory_limit.hpp"
#include "common/usage_error.hpp"

namespace fabricbench::npb {
namespace {

/// Returns MemAvailable of this node in bytes, or the largest integer if /proc/meminfo lacks it.
std::int64_t available_on_node() {
  std::ifstream file("/proc/meminfo");
  for (std::string key, unit; file >> key;) {
    std::int64_t kibibytes = 0;
    if (key == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    std::getline(file, unit);
  }
  return std::numeric_limits<std::int64_t>::max();
}

std::string megabytes(std::int64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

}  // namespace

void check_memory(std::int64_t bytes_per_rank, std::optional<std::int64_t> limit_bytes,
                  MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int ranks = 0;
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  const std::int64_t needed = bytes_per_rank * ranks;
  const std::int64_t available =
      limit_bytes.value_or(std::min(available_on_node(), memory_limit().available));

  // The message names the values of the node with the largest shortage.
  std::array<std::int64_t, 3> lack{needed - available, needed, available};
  std::array<std::int64_t, 1> worst{lack[0]};
  MPI_Allreduce(MPI_IN_PLACE, worst.data(), 1, MPI_INT64_T, MPI_MAX, comm);
  if (worst[0] <= 0) return;
  if (lack[0] != worst[0]) lack = {0, 0, 0};
  MPI_Allreduce(MPI_IN_PLACE, lack.data(), 3, MPI_INT64_T, MPI_MAX, comm);
  throw UsageError("too little memory: the ranks of a node need " + megabytes(lack[1]) + ", " +
                   megabytes(lack[2]) + " are available; use a smaller class or more nodes");
}

}  // namespace fabricbench::npb
