// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "check.hpp"
#include "micro/summary.hpp"

using namespace fabricbench::micro;

namespace {

bool near(double one, double other) {
  return std::abs(one - other) < 1e-9;
}

void test_ranks_of_even_and_odd_counts() {
  Summariser all;
  all.add(std::array<std::int64_t, 3>{30, 10, 20});
  all.add(std::array<std::int64_t, 2>{100, 50});
  all.add(std::array<std::int64_t, 1>{7});
  const Summary result = all.result();
  CHECK(near(result.median, 25.0));  // 7 10 20 30 50 100
  CHECK(near(result.mean, 217.0 / 6.0));
  CHECK(near(result.rank_mean, (20.0 + 75.0 + 7.0) / 3.0));
  CHECK(near(result.rank_min, 7.0));
  CHECK(near(result.rank_max, 75.0));
}

}  // namespace

int main() {
  test_ranks_of_even_and_odd_counts();
  return check::result();
}
