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

/// Keys number `first` to `first + keys.size()` of NASA's sequence, in [0, 2^max_key_log2): each is
/// the mean of four random numbers (RNR-94-007, kernel IS).
void generate_keys(std::uint64_t first, int max_key_log2, std::span<Key> keys);

/// The share of keys below `fraction` of the largest, in the limit of many: the distribution of the
/// mean of four uniform numbers (Irwin-Hall).
[[nodiscard]] double share_below(double fraction);

}  // namespace fabricbench::npb::is
