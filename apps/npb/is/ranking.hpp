// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npb/is/keys.hpp"

/// The parts of the ranking that are local to a rank. They use no MPI and allocate no memory.
/// A bucket is the keys with the same leading bits: bucket = key >> shift.
namespace fabricbench::npb::is {

/// Returns the logarithm of the number of buckets: of `requested`, or if that is 0 of NASA's
/// number, 512 in class S and 1024 in the others.
[[nodiscard]] int buckets_log2(char problem_class, int requested);

/// Writes the number of keys in every bucket into `counts` (shape: buckets).
void count_buckets(std::span<const Key> keys, int shift, std::span<std::uint32_t> counts);

/// Writes `keys` ordered by bucket into `out` (shape: keys). On entry `ends` (shape: buckets) holds
/// the start of each bucket in `out`, on return its end.
void spread(std::span<const Key> keys, int shift, std::span<std::uint32_t> ends,
            std::span<Key> out);

/// Writes the bucket after the last bucket of each rank into `ends` (shape: ranks). The range of
/// rank r ends with the bucket at which ranks 0 to r together have r + 1 average shares. Ranks
/// without remaining buckets own none.
void distribute(std::span<const std::uint32_t> totals, std::int64_t keys_per_rank,
                std::span<int> ends);

/// Adds the number of occurrences of each key to `population`, whose first element belongs to key
/// `least`.
void count_keys(std::span<const Key> keys, Key least, std::span<std::uint32_t> population);

/// Converts the counts in `population` to ranks: the rank of a key is the number of smaller keys.
void rank_keys(std::span<std::uint32_t> population);

/// Returns the memory of the rank that needs most, in bytes, with 2^log2 buckets and the expected
/// distribution of the keys.
[[nodiscard]] std::int64_t expected_bytes(char problem_class, int ranks, int log2);

/// Returns the capacity for `count` elements and the possible growth when keys change between
/// iterations.
[[nodiscard]] constexpr std::int64_t with_reserve(std::int64_t count) {
  return count + count / 64;
}

}  // namespace fabricbench::npb::is
