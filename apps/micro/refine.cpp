// SPDX-License-Identifier: Apache-2.0
#include "micro/refine.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fabricbench::micro {
namespace {

constexpr double tolerance = 0.25;
constexpr std::int64_t least_gap_bytes = 32;
constexpr std::int64_t least_gap_share = 8;  ///< one part in so many of the size

}  // namespace

std::optional<std::int64_t> size_to_add(const std::map<std::int64_t, double>& times) {
  std::optional<std::int64_t> found;
  double largest = tolerance;
  if (times.size() < 3) return found;
  for (auto third = std::next(times.begin(), 2); third != times.end(); ++third) {
    const auto second = std::prev(third);
    const auto first = std::prev(second);
    const auto before = static_cast<double>(second->first - first->first);
    const std::int64_t gap = third->first - second->first;
    const double slope = (second->second - first->second) / before;
    const double expected = second->second + slope * static_cast<double>(gap);
    const double departure = std::abs(third->second - expected) / std::abs(expected);
    const std::int64_t least_gap = std::max(least_gap_bytes, third->first / least_gap_share);
    if (departure > largest && gap > least_gap) {
      largest = departure;
      found = second->first + gap / 2;
    }
  }
  return found;
}

}  // namespace fabricbench::micro
