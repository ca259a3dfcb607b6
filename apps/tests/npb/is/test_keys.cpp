// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "npb/driver/random.hpp"
#include "npb/driver/reference.hpp"
#include "npb/is/keys.hpp"

using namespace fabricbench::npb;
using namespace fabricbench::npb::is;

namespace {

/// Computes keys as floor(max_key / 4 * (r1 + r2 + r3 + r4)) in floating point (RNR-94-007, kernel
/// IS).
std::vector<Key> keys_by_definition(std::size_t count, int max_key_log2) {
  std::uint64_t state = random_seed;
  std::vector<Key> keys(count);
  for (Key& key : keys) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += random_next(state, random_multiplier);
    key = static_cast<Key>(std::ldexp(sum, max_key_log2 - 2));
  }
  return keys;
}

void test_definition() {
  for (const int max_key_log2 : {11, 16, 19, 21, 23, 27}) {
    const std::vector<Key> expected = keys_by_definition(2003, max_key_log2);
    std::vector<Key> keys(expected.size());
    generate_keys(0, max_key_log2, keys);
    CHECK(keys == expected);
    // Parts of the sequence with different first keys and lengths.
    for (const std::size_t first : {1U, 8U, 1000U, 1999U}) {
      std::vector<Key> part(expected.size() - first);
      generate_keys(first, max_key_log2, part);
      CHECK(std::equal(part.begin(), part.end(), expected.begin() + static_cast<long>(first)));
    }
  }
}

/// Checks that the test keys of class S have NASA's rank, except for the keys that an iteration
/// changes.
void test_ranks() {
  std::vector<Key> keys(std::size_t{1} << 16);
  generate_keys(0, 11, keys);
  for (const char* const i : {"0", "1", "2", "3", "4"}) {
    const auto index = static_cast<std::size_t>(reference("IS", 'S', std::string("index.") + i));
    const double rank = reference("IS", 'S', std::string("rank.") + i);
    double lesser = 0;
    for (const Key key : keys) lesser += key < keys[index];
    CHECK(std::abs(lesser - rank) <= 2);
  }
}

void test_distribution() {
  CHECK(share_below(-1) == 0.0 && share_below(0) == 0.0);
  CHECK(std::abs(share_below(0.25) - 1.0 / 24) < 1e-15);
  CHECK(std::abs(share_below(0.5) - 0.5) < 1e-15);
  CHECK(std::abs(share_below(0.75) - 23.0 / 24) < 1e-15);
  CHECK(std::abs(share_below(1) - 1) < 1e-15 && std::abs(share_below(2) - 1) < 1e-15);

  // The Kolmogorov-Smirnov distance of 2^20 keys at 64 points is below the critical value at
  // significance level 1e-4.
  constexpr int count = 1 << 20;
  std::vector<Key> keys(count);
  generate_keys(0, 16, keys);
  std::array<int, 64> bins{};
  for (const Key key : keys) ++bins[key >> 10];
  double below = 0;
  double distance = 0;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    below += bins[bin];
    distance = std::max(distance,
                        std::abs(below / count - share_below(static_cast<double>(bin + 1) / 64)));
  }
  CHECK(distance < 2.23 / 1024);
}

void test_sizes() {
  CHECK(size_of_class('S').keys_log2 == 16 && size_of_class('S').most_ranks == 128);
  CHECK(size_of_class('D').keys_log2 == 31 && size_of_class('D').least_ranks == 4);
  CHECK(check::throws<std::logic_error>([] { static_cast<void>(size_of_class('E')); }, "class E"));
}

}  // namespace

int main() {
  test_definition();
  test_ranks();
  test_distribution();
  test_sizes();
  return check::result();
}
