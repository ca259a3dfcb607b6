// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "timing/clock.hpp"

namespace fabricbench::timing {

/// The median; the upper one of an even number of values. Reorders `values`, which must not be
/// empty.
[[nodiscard]] inline std::int64_t median(std::span<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The duration of `action` in nanoseconds: the median of `count` calls.
template <std::size_t count, class Action>
[[nodiscard]] std::int64_t median_duration_ns(Action action) {
  std::array<std::int64_t, count> durations{};
  for (std::int64_t& duration : durations) {
    const std::int64_t start = now_ns();
    action();
    duration = now_ns() - start;
  }
  return median(durations);
}

}  // namespace fabricbench::timing
