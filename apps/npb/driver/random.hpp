// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// NASA's generator (Bailey et al., The NAS Parallel Benchmarks, RNR-94-007): x(k+1) = a x(k) mod
/// 2^46, exact; numbers are x / 2^46, in (0, 1).
namespace fabricbench::npb {

inline constexpr std::uint64_t random_mask = (std::uint64_t{1} << 46) - 1;
inline constexpr double random_unit = 1.0 / static_cast<double>(std::uint64_t{1} << 46);
inline constexpr std::uint64_t random_multiplier = 1220703125;  ///< 5^13
inline constexpr std::uint64_t random_seed = 314159265;

/// Returns a b mod 2^46. The product wraps at 2^64, which preserves the low 46 bits.
[[nodiscard]] constexpr std::uint64_t random_product(std::uint64_t a, std::uint64_t b) {
  return (a * b) & random_mask;
}

/// Returns a^n mod 2^46, the factor that advances the state by n numbers.
[[nodiscard]] constexpr std::uint64_t random_power(std::uint64_t a, std::uint64_t n) {
  std::uint64_t power = 1;
  for (; n != 0; n >>= 1, a = random_product(a, a)) {
    if (n & 1) power = random_product(power, a);
  }
  return power;
}

/// Advances the state and returns the next number.
[[nodiscard]] constexpr double random_next(std::uint64_t& state, std::uint64_t a) {
  state = random_product(a, state);
  return static_cast<double>(state) * random_unit;
}

}  // namespace fabricbench::npb

// For Fortran (npb_m); states and multipliers are integers below 2^46.
extern "C" {
double npb_random_next(std::uint64_t* state, std::uint64_t a);
std::uint64_t npb_random_power(std::uint64_t a, std::uint64_t n);
/// Writes the next n numbers into values (shape: n).
void npb_random_fill(std::int64_t n, std::uint64_t* state, std::uint64_t a, double* values);
}
