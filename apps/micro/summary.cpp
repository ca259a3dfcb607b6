// SPDX-License-Identifier: Apache-2.0
#include "micro/summary.hpp"

#include <algorithm>
#include <numeric>

namespace fabricbench::micro {
namespace {

/// Reorders `values`, which must not be empty.
double median_of(std::span<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const auto upper = static_cast<double>(*middle);
  if (values.size() % 2 == 1) return upper;
  return (upper + static_cast<double>(*std::max_element(values.begin(), middle))) / 2.0;
}

}  // namespace

void Summariser::add(std::span<const std::int64_t> samples_ns) {
  samples_.insert(samples_.end(), samples_ns.begin(), samples_ns.end());
  medians_.push_back(median_of(std::span(samples_).last(samples_ns.size())));
}

Summary Summariser::result() {
  const auto [least, most] = std::minmax_element(medians_.begin(), medians_.end());
  return {
      .median = median_of(samples_),
      .mean = std::accumulate(samples_.begin(), samples_.end(), 0.0) /
              static_cast<double>(samples_.size()),
      .rank_mean = std::accumulate(medians_.begin(), medians_.end(), 0.0) /
                   static_cast<double>(medians_.size()),
      .rank_min = *least,
      .rank_max = *most,
  };
}

}  // namespace fabricbench::micro
