// SPDX-License-Identifier: Apache-2.0
#include "timing/plan.hpp"

#include <algorithm>

namespace fabricbench::timing {

std::int64_t scaled_count(std::int64_t count, std::int64_t msg_size, std::int64_t least,
                          std::int64_t fewer) {
  count = std::max(std::min(least, count), count / fewer);
  if (msg_size <= full_count_limit_bytes) return count;
  return std::max(std::min(least, count), count * full_count_limit_bytes / msg_size);
}

Plan make_plan(std::int64_t iterations, std::int64_t warmup) {
  const std::int64_t stride = (iterations + max_samples - 1) / max_samples;
  return {.warmup = warmup, .stride = stride, .samples = iterations / stride};
}

std::int64_t limited_count(std::int64_t planned, double limit_s, double iteration_s) {
  const double fitting = iteration_s > 0.0 ? limit_s / iteration_s : static_cast<double>(planned);
  if (fitting >= static_cast<double>(planned)) return planned;
  return std::max(std::min(planned, least_iterations), static_cast<std::int64_t>(fitting));
}

}  // namespace fabricbench::timing
