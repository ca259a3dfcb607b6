// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npb/is/keys.hpp"

/// The parts of the ranking that are local to a rank. They use no MPI and allocate no memory.
/// A bucket is the keys with the same leading bits: bucket = key >> shift.
namespace fabricbench::npb::is {

/// NASA has 1024 buckets, 512 in class S. On few ranks 512 balance as well, and as many open cache
/// lines stay in the first level while keys are spread over them.
[[nodiscard]] int buckets_log2(char problem_class, int ranks);

/// Writes the number of keys in every bucket into `counts` (shape: buckets).
void count_buckets(std::span<const Key> keys, int shift, std::span<std::uint32_t> counts);

/// Orders `keys` by bucket into `out` (shape: keys). `ends` (shape: buckets) holds where each
/// bucket starts in `out` and, afterwards, where it ends.
void spread(std::span<const Key> keys, int shift, std::span<std::uint32_t> ends,
            std::span<Key> out);

/// The bucket after rank r's last, for each rank, as `ends` (shape: ranks): rank r closes with the
/// bucket at which the ranks up to it have r + 1 average shares. Ranks without
/// remaining buckets own none.
void distribute(std::span<const std::uint32_t> totals, std::int64_t keys_per_rank,
                std::span<int> ends);

/// Adds the number of times that each key occurs to `population`, whose first element is of
/// `least`.
void count_keys(std::span<const Key> keys, Key least, std::span<std::uint32_t> population);

/// Turns populations into ranks: the number of smaller keys.
void rank_keys(std::span<std::uint32_t> population);

/// Bytes that the largest of `ranks` ranks takes, with the keys distributed as expected.
[[nodiscard]] std::int64_t expected_bytes(char problem_class, int ranks);

/// Room for `count` elements and for what the change of keys between iterations may add.
[[nodiscard]] constexpr std::int64_t with_reserve(std::int64_t count) {
  return count + count / 64;
}

}  // namespace fabricbench::npb::is
