// SPDX-License-Identifier: Apache-2.0
#include "npb/driver/random.hpp"

#include <array>

using namespace fabricbench::npb;

extern "C" double npb_random_next(std::uint64_t* state, std::uint64_t a) {
  return random_next(*state, a);
}

extern "C" std::uint64_t npb_random_power(std::uint64_t a, std::uint64_t n) {
  return random_power(a, n);
}

extern "C" void npb_random_fill(std::int64_t n, std::uint64_t* state, std::uint64_t a,
                                double* values) {
  // Each lane advances by a^lanes, so the lanes are independent of each other.
  constexpr std::size_t lanes = 8;
  const std::uint64_t leap = random_power(a, lanes);
  const auto count = static_cast<std::size_t>(n);
  std::array<std::uint64_t, lanes> states{};
  std::uint64_t current = *state;
  for (std::uint64_t& lane : states) lane = current = random_product(a, current);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) {
      values[i + k] = static_cast<double>(states[k]) * random_unit;
      states[k] = random_product(leap, states[k]);
    }
  }
  for (std::size_t k = 0; i < count; ++i, ++k) {
    values[i] = static_cast<double>(states[k]) * random_unit;
  }
  *state = random_product(random_power(a, count), *state);
}
