// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "micro/refine.hpp"

using namespace fabricbench::micro;

namespace {

using Curve = double (*)(double);

/// Returns the sizes that are added, one after the other, to doubling sizes.
std::vector<std::int64_t> added(Curve curve, std::int64_t largest) {
  std::map<std::int64_t, double> times{{0, curve(0)}};
  for (std::int64_t size = 1; size <= largest; size *= 2)
    times[size] = curve(static_cast<double>(size));
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < most_added_sizes; ++i) {
    const auto size = size_to_add(times);
    if (!size) break;
    CHECK(!times.contains(*size));
    times[*size] = curve(static_cast<double>(*size));
    sizes.push_back(*size);
  }
  return sizes;
}

void test_linear_times() {
  CHECK(added([](double size) { return 10 + 0.001 * size; }, 1 << 20).empty());
  CHECK(!size_to_add({}));
  CHECK(!size_to_add({{0, 1.0}, {1, 9.0}}));
}

/// Checks that added sizes locate a jump at 5000 bytes to within an eighth of the size.
void test_jump() {
  const auto sizes =
      added([](double size) { return (size < 5000 ? 10 : 40) + 0.001 * size; }, 1 << 20);
  CHECK(!sizes.empty() && sizes.size() <= most_added_sizes);
  CHECK(std::find(sizes.begin(), sizes.end(), 6144) != sizes.end());
  CHECK(std::find(sizes.begin(), sizes.end(), 5120) != sizes.end());
  CHECK(std::all_of(sizes.begin(), sizes.end(),
                    [](auto size) { return size > 4096 && size < 32768; }));
}

/// Checks that steps between small sizes add no sizes.
void test_small_sizes() {
  CHECK(added([](double size) { return size < 20 ? 1.0 : 9.0; }, 32).empty());
}

}  // namespace

int main() {
  test_linear_times();
  test_jump();
  test_small_sizes();
  return check::result();
}
