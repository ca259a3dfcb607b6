// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace fabricbench::npb::is {

using Key = std::uint32_t;

inline constexpr int iterations = 10;

struct Size {
  int keys_log2;
  int max_key_log2;
  int least_ranks;
  int most_ranks;
};

[[nodiscard]] Size size_of_class(char problem_class);

/// Generates the keys `first` to `first + keys.size() - 1` of NASA's sequence, in [0,
/// 2^max_key_log2). Each key is the mean of four random numbers (RNR-94-007, kernel IS).
void generate_keys(std::uint64_t first, int max_key_log2, std::span<Key> keys);

/// Returns the expected share of keys below `fraction` of the largest key: the distribution
/// function of the mean of four uniform numbers (Irwin-Hall).
[[nodiscard]] double share_below(double fraction);

}  // namespace fabricbench::npb::is
