// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "npb/driver/random.hpp"

using namespace fabricbench::npb;

namespace {

constexpr std::uint64_t a = random_multiplier;

/// Returns x y mod 2^46 computed from halves of 23 bits, as NASA's code does (RNR-94-007). No
/// intermediate product exceeds 47 bits.
std::uint64_t product_by_halves(std::uint64_t x, std::uint64_t y) {
  constexpr std::uint64_t half = (std::uint64_t{1} << 23) - 1;
  const std::uint64_t cross = ((x >> 23) * (y & half) & half) + ((x & half) * (y >> 23) & half);
  return (((cross & half) << 23) + (x & half) * (y & half)) & random_mask;
}

void test_known_values() {
  static_assert(a == std::uint64_t{5} * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5 * 5);
  // The expected values were computed with Python integers.
  std::uint64_t state = random_seed;
  std::vector<std::uint64_t> states;
  for (int i = 0; i < 10; ++i) {
    const double number = random_next(state, a);
    CHECK(number * 0x1p46 == static_cast<double>(state));
    states.push_back(state);
  }
  CHECK(states[0] == 55909509111989);
  CHECK(states[1] == 61155031930969);
  CHECK(states[9] == 34383163428281);
  CHECK(random_power(a, 1'000'000'000'000) == 40889904840705);
}

void test_product() {
  std::uint64_t x = random_seed;
  std::uint64_t y = random_mask;
  for (int i = 0; i < 10000; ++i) {
    CHECK(random_product(x, y) == product_by_halves(x, y));
    x = product_by_halves(a, x);
    y = product_by_halves(random_seed, y);
  }
  // (2^46 - 1)^2 = 1 mod 2^46.
  CHECK(random_product(random_mask, random_mask) == 1);
}

void test_power() {
  CHECK(random_power(a, 0) == 1 && random_power(a, 1) == a);
  std::uint64_t state = random_seed;
  for (std::uint64_t n = 0; n < 3000; ++n) {
    CHECK(random_product(random_power(a, n), random_seed) == state);
    state = product_by_halves(a, state);
  }
  // a = 5 mod 8, so its order modulo 2^46 is 2^44: the generator's period.
  CHECK(random_power(a, std::uint64_t{1} << 44) == 1);
  CHECK(random_power(a, std::uint64_t{1} << 43) == (std::uint64_t{1} << 45) + 1);
}

void test_fill() {
  for (const std::int64_t n : {0, 1, 7, 8, 9, 15, 16, 1001}) {
    std::uint64_t filled = random_seed;
    std::uint64_t stepped = random_seed;
    std::vector<double> values(static_cast<std::size_t>(n) + 1, -1.0);
    npb_random_fill(n, &filled, a, values.data());
    for (std::int64_t i = 0; i < n; ++i) {
      CHECK(values[static_cast<std::size_t>(i)] == random_next(stepped, a));
    }
    CHECK(values.back() == -1.0);
    CHECK(filled == stepped);
    CHECK(npb_random_next(&filled, a) == random_next(stepped, a));
  }
  CHECK(npb_random_power(a, 12345) == random_power(a, 12345));
}

/// Checks that mean and variance agree with the uniform distribution within five standard errors.
void test_moments() {
  constexpr int n = 1 << 20;
  std::uint64_t state = random_seed;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random_next(state, a) - 0.5;
    sum += x;
    squares += x * x;
  }
  CHECK(sum / n < 5 * 0.2887 / 1024 && sum / n > -5 * 0.2887 / 1024);
  CHECK(squares / n - 1.0 / 12 < 5 * 0.0745 / 1024 && squares / n - 1.0 / 12 > -5 * 0.0745 / 1024);
}

}  // namespace

int main() {
  test_known_values();
  test_product();
  test_power();
  test_fill();
  test_moments();
  return check::result();
}
