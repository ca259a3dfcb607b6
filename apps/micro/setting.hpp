// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/world.hpp"
#include "micro/benchmark.hpp"
#include "micro/job.hpp"

namespace fabricbench::micro {

/// The facts about the launch that the parts of an MPI benchmark need.
struct Setting {
  World world;
  std::int64_t largest_size;    ///< bytes
  std::int64_t largest_amount;  ///< of the benchmark's amount, 0 without one
  std::int64_t rounds;          ///< as in Options
  std::int64_t block;           ///< as in Options
  bool checked;                 ///< checked mode
  Fault fault;
};

/// Returns one part for each quantity of the job's benchmark. Collective. Throws UsageError if the
/// memory of a node is too small, and std::bad_alloc.
[[nodiscard]] std::vector<std::unique_ptr<Part>> set_up_parts(const Job& job, const World& world);

}  // namespace fabricbench::micro
