// SPDX-License-Identifier: Apache-2.0
#include "micro/setting.hpp"

#include <algorithm>

#include "common/usage_error.hpp"
#include "micro/msg_sizes.hpp"

namespace fabricbench::micro {
namespace {

/// Throws UsageError if two buffers of each part of all ranks exceed three quarters of a node's
/// memory.
void check_memory(const Benchmark& benchmark, std::int64_t largest_size, int ranks) {
  const auto buffers = 2 * static_cast<std::int64_t>(benchmark.quantities.size()) * ranks;
  if (largest_size > 3 * quarter_of_memory() / buffers) {
    throw UsageError("--sizes: " + std::to_string(buffers) + " buffers of " +
                     std::to_string(largest_size) + " bytes, for " + std::to_string(ranks) +
                     " ranks on a node, exceed three quarters of its memory; give smaller sizes");
  }
}

}  // namespace

std::vector<std::unique_ptr<Part>> set_up_parts(const Job& job, const World& world) {
  const Options& options = job.options;
  const std::int64_t largest = largest_of(options.sizes_bytes);
  check_memory(*job.benchmark, largest, most_ranks_of_a_node(world));
  const Setting setting{.world = world,
                        .largest_size = largest,
                        .largest_amount = largest_of(options.amounts),
                        .rounds = options.rounds,
                        .block = options.block,
                        .checked = options.check,
                        .fault = job.fault};
  std::vector<std::unique_ptr<Part>> parts;
  for (const Quantity& quantity : job.benchmark->quantities)
    parts.push_back(quantity.set_up(setting));
  return parts;
}

}  // namespace fabricbench::micro
