// SPDX-License-Identifier: Apache-2.0
#include "timing/loop.hpp"

#include <array>

#include "timing/median.hpp"

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
  return static_cast<double>(median(samples));
}

}  // namespace fabricbench::timing
