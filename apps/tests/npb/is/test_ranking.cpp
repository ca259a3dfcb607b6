// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "npb/is/keys.hpp"
#include "npb/is/ranking.hpp"

using namespace fabricbench::npb::is;

namespace {

std::vector<Key> some_keys(std::size_t count, int max_key_log2) {
  std::vector<Key> keys(count);
  generate_keys(12345, max_key_log2, keys);
  return keys;
}

void test_buckets() {
  // Most of these numbers of keys are not multiples of the loop's unrolling factor.
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 1003U}) {
    const std::vector<Key> keys = some_keys(count, 11);
    constexpr int shift = 2;
    std::vector<std::uint32_t> counts(512, 7);
    count_buckets(keys, shift, counts);
    for (Key bucket = 0; bucket < counts.size(); ++bucket) {
      CHECK(counts[bucket] ==
            std::ranges::count_if(keys, [&](Key key) { return key / 4 == bucket; }));
    }

    std::vector<std::uint32_t> ends(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), ends.begin(), std::uint32_t{0});
    std::vector<Key> ordered(keys.size());
    spread(keys, shift, ends, ordered);
    std::vector<Key> expected = keys;
    std::ranges::stable_sort(expected, {}, [](Key key) { return key / 4; });
    CHECK(ordered == expected);
    std::vector<std::uint32_t> sums(counts.size());
    std::partial_sum(counts.begin(), counts.end(), sums.begin());
    CHECK(ends == sums);
  }
}

void test_ranks() {
  constexpr Key least = 1 << 9;
  std::vector<Key> keys = some_keys(5000, 10);
  std::erase_if(keys, [](Key key) { return key < least; });
  std::vector<std::uint32_t> ranks(1 << 9);
  const std::span all(keys);
  count_keys(all.first(100), least, ranks);
  count_keys(all.subspan(100), least, ranks);
  rank_keys(ranks);

  std::vector<Key> sorted = keys;
  std::ranges::sort(sorted);
  for (const Key key : keys) {
    CHECK(ranks[key - least] ==
          static_cast<std::uint32_t>(std::ranges::lower_bound(sorted, key) - sorted.begin()));
  }
}

std::vector<int> distributed(const std::vector<std::uint32_t>& totals, std::int64_t keys_per_rank,
                             std::size_t ranks) {
  std::vector<int> ends(ranks, -1);
  distribute(totals, keys_per_rank, ends);
  return ends;
}

void test_distribution() {
  using Ends = std::vector<int>;
  CHECK(distributed({1, 1, 1, 1}, 4, 1) == Ends({4}));
  CHECK(distributed({2, 2, 2, 2}, 4, 2) == Ends({2, 4}));
  CHECK(distributed({0, 3, 2, 3}, 4, 2) == Ends({3, 4}));
  // A bucket ends the range of at most one rank, so after a large bucket the last ranks own none.
  CHECK(distributed({0, 8, 0, 0}, 2, 4) == Ends({2, 3, 4, 4}));
  CHECK(distributed({1, 6, 0, 1}, 2, 4) == Ends({2, 3, 4, 4}));
  // The sum of the counts exceeds 32 bits.
  CHECK(distributed({4000000000U, 4000000000U, 4000000000U, 0}, 6000000000, 2) == Ends({2, 3}));
}

/// Returns the bytes of NASA's three arrays of 32-bit keys.
std::int64_t nasa_bytes(std::int64_t keys_per_rank, int ranks) {
  const std::int64_t halves = ranks < 256 ? 3 : ranks < 512 ? 5 : ranks < 1024 ? 8 : 13;
  return 3 * 4 * (keys_per_rank * halves / 2);
}

void test_memory() {
  for (const char problem_class : {'W', 'A', 'B', 'C', 'D'}) {
    const Size size = size_of_class(problem_class);
    for (int ranks = size.least_ranks; ranks <= size.most_ranks; ranks *= 2) {
      const std::int64_t keys_per_rank = (std::int64_t{1} << size.keys_log2) / ranks;
      const std::int64_t bytes =
          expected_bytes(problem_class, ranks, buckets_log2(problem_class, 0));
      CHECK(bytes >= 8 * keys_per_rank);
      CHECK(bytes <= nasa_bytes(keys_per_rank, ranks));
    }
  }
  // One rank holds its keys, the keys ordered by bucket, and a count for each possible key.
  constexpr std::int64_t least = 4 * (2 * (1 << 23) + (1 << 19));
  CHECK(expected_bytes('A', 1, 10) >= least && expected_bytes('A', 1, 10) < least + least / 64);
}

void test_numbers_of_buckets() {
  CHECK(buckets_log2('S', 0) == 9 && buckets_log2('W', 0) == 10 && buckets_log2('D', 0) == 10);
  CHECK(buckets_log2('S', 1024) == 10 && buckets_log2('W', 512) == 9);
}

}  // namespace

int main() {
  test_numbers_of_buckets();
  test_buckets();
  test_ranks();
  test_distribution();
  test_memory();
  return check::result();
}
