// SPDX-License-Identifier: Apache-2.0
#include "timing/loop.hpp"

#include <algorithm>
#include <array>

namespace fabricbench::timing {
namespace {

struct Nothing {
  void before(std::int64_t /*iteration*/) {}
  void run() {}
  void after(std::int64_t /*iteration*/) {}
};

}  // namespace

double overhead_ns() {
  std::array<std::int64_t, max_samples> samples{};
  Nothing nothing;
  repeat(nothing, 0, max_samples);
  sample(nothing, 0, 1, samples);
  const auto middle = samples.begin() + samples.size() / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  return static_cast<double>(*middle);
}

}  // namespace fabricbench::timing
