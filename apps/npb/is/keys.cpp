// SPDX-License-Identifier: Apache-2.0
#include "npb/is/keys.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "npb/driver/random.hpp"

namespace fabricbench::npb::is {

Size size_of_class(char problem_class) {
  switch (problem_class) {
    case 'S':
      return {.keys_log2 = 16, .max_key_log2 = 11, .least_ranks = 1, .most_ranks = 128};
    case 'W':
      return {.keys_log2 = 20, .max_key_log2 = 16, .least_ranks = 1, .most_ranks = 1024};
    case 'A':
      return {.keys_log2 = 23, .max_key_log2 = 19, .least_ranks = 1, .most_ranks = 1024};
    case 'B':
      return {.keys_log2 = 25, .max_key_log2 = 21, .least_ranks = 1, .most_ranks = 1024};
    case 'C':
      return {.keys_log2 = 27, .max_key_log2 = 23, .least_ranks = 1, .most_ranks = 1024};
    case 'D':
      return {.keys_log2 = 31, .max_key_log2 = 27, .least_ranks = 4, .most_ranks = 1024};
    default:
      throw std::logic_error("IS has no class " + std::string(1, problem_class));
  }
}

void generate_keys(std::uint64_t first, int max_key_log2, std::span<Key> keys) {
  constexpr std::uint64_t a = random_multiplier;
  constexpr std::uint64_t a2 = random_power(a, 2), a3 = random_power(a, 3), a4 = random_power(a, 4);
  // Each lane advances by the number of lanes, so the lanes are independent of each other.
  constexpr std::size_t lanes = 8;
  constexpr std::uint64_t leap = random_power(a4, lanes);
  // A sum of four states has 48 bits; NASA scales it by max_key / 4, exactly, and truncates.
  const int shift = 48 - max_key_log2;

  std::array<std::uint64_t, lanes> states{};
  std::uint64_t state = random_product(random_power(a4, first), random_seed);
  for (std::uint64_t& lane : states) {
    lane = state;
    state = random_product(a4, state);
  }
  for (std::size_t i = 0; i < keys.size(); i += lanes) {
    std::array<Key, lanes> next{};
    for (std::size_t k = 0; k < lanes; ++k) {
      const std::uint64_t x = states[k];
      next[k] = static_cast<Key>((random_product(a, x) + random_product(a2, x) +
                                  random_product(a3, x) + random_product(a4, x)) >>
                                 shift);
      states[k] = random_product(leap, x);
    }
    std::copy_n(next.begin(), std::min(lanes, keys.size() - i),
                keys.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

double share_below(double fraction) {
  constexpr std::array<double, 4> coefficients{1, -4, 6, -4};
  const double sum = 4 * std::clamp(fraction, 0.0, 1.0);
  double share = 0;
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    const double above = std::max(sum - static_cast<double>(k), 0.0);
    share += coefficients[k] * above * above * above * above / 24;
  }
  return share;
}

}  // namespace fabricbench::npb::is
