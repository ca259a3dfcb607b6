// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

namespace fabricbench {

/// The value of a limit that is not set.
inline constexpr std::int64_t no_memory_limit = std::numeric_limits<std::int64_t>::max();

/// A limit on the memory of this process's control groups, in bytes. `available` is the limit less
/// the memory in use, where page cache that can be dropped does not count as used.
struct MemoryLimit {
  std::int64_t limit = no_memory_limit;
  std::int64_t available = no_memory_limit;
};

/// Returns the least limits among this process's memory control group (version 1 or 2) and its
/// parents, and the memory of Slurm's job on this node (SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU).
/// `proc` replaces /proc/self in tests.
[[nodiscard]] MemoryLimit memory_limit(const std::filesystem::path& proc = "/proc/self");

}  // namespace fabricbench
