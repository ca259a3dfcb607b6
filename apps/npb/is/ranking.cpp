// SPDX-License-Identifier: Apache-2.0
#include "npb/is/ranking.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace fabricbench::npb::is {
namespace {

constexpr std::size_t unroll = 4;
constexpr std::size_t most_buckets = 1024;

}  // namespace

int buckets_log2(char problem_class, int requested) {
  if (requested != 0) return std::countr_zero(static_cast<unsigned>(requested));
  return problem_class == 'S' ? 9 : 10;
}

void count_buckets(std::span<const Key> keys, int shift, std::span<std::uint32_t> counts) {
  // Consecutive keys are often in the same bucket. Separate tables make their updates independent.
  std::array<std::array<std::uint32_t, most_buckets>, unroll> tables{};
  const std::size_t whole = keys.size() / unroll * unroll;
  for (std::size_t i = 0; i < whole; i += unroll) {
    for (std::size_t k = 0; k < unroll; ++k) ++tables[k][keys[i + k] >> shift];
  }
  for (std::size_t i = whole; i < keys.size(); ++i) ++tables[0][keys[i] >> shift];
  for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
    counts[bucket] = 0;
    for (const auto& table : tables) counts[bucket] += table[bucket];
  }
}

void spread(std::span<const Key> keys, int shift, std::span<std::uint32_t> ends,
            std::span<Key> out) {
  const std::size_t whole = keys.size() / unroll * unroll;
  for (std::size_t i = 0; i < whole; i += unroll) {
    // Keys are read before the writes, because the compiler assumes that the writes may change
    // them.
    std::array<Key, unroll> next{};
    std::copy_n(keys.data() + i, unroll, next.begin());
    for (const Key key : next) out[ends[key >> shift]++] = key;
  }
  for (std::size_t i = whole; i < keys.size(); ++i) out[ends[keys[i] >> shift]++] = keys[i];
}

void distribute(std::span<const std::uint32_t> totals, std::int64_t keys_per_rank,
                std::span<int> ends) {
  std::int64_t keys = 0;
  std::size_t rank = 0;
  for (std::size_t bucket = 0; bucket < totals.size() && rank < ends.size(); ++bucket) {
    keys += totals[bucket];
    if (keys >= static_cast<std::int64_t>(rank + 1) * keys_per_rank) {
      ends[rank++] = static_cast<int>(bucket) + 1;
    }
  }
  std::fill(ends.begin() + static_cast<std::ptrdiff_t>(rank), ends.end(),
            static_cast<int>(totals.size()));
}

void count_keys(std::span<const Key> keys, Key least, std::span<std::uint32_t> population) {
  for (const Key key : keys) ++population[key - least];
}

void rank_keys(std::span<std::uint32_t> population) {
  std::exclusive_scan(population.begin(), population.end(), population.begin(), std::uint32_t{0});
}

std::int64_t expected_bytes(char problem_class, int ranks, int log2) {
  const Size size = size_of_class(problem_class);
  const std::int64_t keys = std::int64_t{1} << size.keys_log2;
  const std::int64_t keys_per_rank = keys / ranks;
  const std::int64_t bucket_width = std::int64_t{1} << (size.max_key_log2 - log2);
  std::vector<std::uint32_t> totals(std::size_t{1} << log2);
  double below = 0;
  for (std::size_t bucket = 0; bucket < totals.size(); ++bucket) {
    const double next = share_below(std::ldexp(static_cast<double>(bucket + 1), -log2));
    totals[bucket] =
        static_cast<std::uint32_t>(std::lround((next - below) * std::ldexp(1.0, size.keys_log2)));
    below = next;
  }
  std::vector<int> ends(static_cast<std::size_t>(ranks));
  distribute(totals, keys_per_rank, ends);

  std::int64_t most = 0;
  int begin = 0;
  for (const int end : ends) {
    // The keys are random, so a range may be one bucket longer than expected.
    const std::int64_t before = begin > 0 ? totals[static_cast<std::size_t>(begin) - 1] : 0;
    const std::int64_t behind =
        end < std::ssize(totals) ? totals[static_cast<std::size_t>(end)] : 0;
    const std::int64_t owned =
        std::accumulate(totals.begin() + begin, totals.begin() + end, std::max(before, behind));
    const std::int64_t incoming = with_reserve(owned - owned / ranks);
    const std::int64_t population = with_reserve((end - begin + 1) * bucket_width);
    // The original keys and the keys ordered by bucket. The full verification replaces the original
    // keys by the sorted keys.
    most = std::max(most, keys_per_rank + std::max(keys_per_rank, owned) + incoming + population);
    begin = end;
  }
  return most * static_cast<std::int64_t>(sizeof(Key));
}

}  // namespace fabricbench::npb::is
