// SPDX-License-Identifier: Apache-2.0
#include "timing/clock.hpp"

#include <limits>

namespace fabricbench::timing {

ClockQuality measure_clock() noexcept {
  constexpr int readings = 20'000;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t smallest_step = none;
  const std::int64_t start = now_ns();
  std::int64_t previous = start;
  for (int i = 0; i < readings; ++i) {
    const std::int64_t now = now_ns();
    const std::int64_t step = now - previous;
    if (step > 0 && step < smallest_step) smallest_step = step;
    previous = now;
  }
  return {.resolution_ns = smallest_step == none ? 0.0 : static_cast<double>(smallest_step),
          .overhead_ns = static_cast<double>(previous - start) / readings};
}

}  // namespace fabricbench::timing
