// SPDX-License-Identifier: Apache-2.0
#include "micro/refine.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fabricbench::micro {
namespace {

constexpr double tolerance = 0.25;
constexpr std::int64_t least_spacing_bytes = 32;
constexpr std::int64_t least_spacing_share =
    8;  ///< divisor of the size: the least spacing is 1/8 of it

}  // namespace

std::optional<std::int64_t> size_to_add(const std::map<std::int64_t, double>& times) {
  std::optional<std::int64_t> size;
  double largest = tolerance;
  if (times.size() < 3) return size;
  for (auto third = std::next(times.begin(), 2); third != times.end(); ++third) {
    const auto second = std::prev(third);
    const auto first = std::prev(second);
    const auto before = static_cast<double>(second->first - first->first);
    const std::int64_t spacing = third->first - second->first;
    const double slope = (second->second - first->second) / before;
    const double expected = second->second + slope * static_cast<double>(spacing);
    const double departure = std::abs(third->second - expected) / std::abs(expected);
    const std::int64_t least_spacing =
        std::max(least_spacing_bytes, third->first / least_spacing_share);
    if (departure > largest && spacing > least_spacing) {
      largest = departure;
      size = second->first + spacing / 2;
    }
  }
  return size;
}

}  // namespace fabricbench::micro
