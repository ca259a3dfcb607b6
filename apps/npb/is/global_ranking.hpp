// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npb/driver/kernel.hpp"
#include "npb/is/keys.hpp"

namespace fabricbench::npb::is {

/// Indices of the phases in is.cpp.
enum PhaseIndex { total, computation, communication, verification };

inline constexpr std::size_t test_keys = 5;

/// A key whose rank is known in every iteration.
struct TestKey {
  std::int64_t index;
  std::int64_t rank;
  int step;
  int lag;

  [[nodiscard]] std::int64_t rank_in(int iteration) const {
    return rank + step * (iteration - lag);
  }
};

/// The ranking of the keys of all ranks.
class GlobalRanking {
 public:
  GlobalRanking(const Problem& problem, MPI_Comm comm);

  /// Runs one iteration of the benchmark and its partial verification.
  void rank(int iteration);
  /// Returns whether the last ranks put the original keys in sorted order. Collective. The ranking
  /// cannot continue afterwards.
  bool sorts();

  void reset_passed() { passed_ = 0; }
  /// Test keys of this rank with the expected rank.
  [[nodiscard]] int passed() const { return passed_; }

 private:
  void change_keys(int iteration);
  void order_by_bucket();
  void split_before(std::size_t bucket);
  void share_out();
  void exchange();
  void verify_partially(int iteration);

  /// The first place of a bucket in ordered_.
  [[nodiscard]] std::uint32_t begin_of(std::size_t bucket) const {
    return bucket == 0 ? 0 : bucket_ends_[bucket - 1];
  }
  [[nodiscard]] std::span<const Key> kept() const {
    return std::span(ordered_).subspan(static_cast<std::size_t>(kept_begin_),
                                       static_cast<std::size_t>(kept_count_));
  }
  [[nodiscard]] std::span<const Key> received() const {
    return std::span(incoming_).first(static_cast<std::size_t>(received_count_));
  }
  [[nodiscard]] std::span<std::uint32_t> population() {
    return std::span(population_).first(static_cast<std::size_t>(range_));
  }

  MPI_Comm comm_;
  int rank_ = 0;
  std::size_t ranks_;
  Key max_key_;
  int shift_;
  std::size_t buckets_;
  std::size_t merged_ = 1;  ///< neighbouring buckets that are spread as one
  std::array<TestKey, test_keys> test_keys_;

  std::vector<Key> keys_;
  std::vector<Key> ordered_;   ///< keys by owner; those of other ranks are sent from here
  std::vector<Key> incoming_;  ///< keys from other ranks; this rank's own stay in ordered_
  std::vector<std::uint32_t> population_;  ///< counts of this rank's keys, then ranks

  /// Keys in each bucket, followed by the test keys, which so need no separate message.
  std::vector<std::uint32_t> counts_, totals_;
  std::vector<std::uint32_t> bucket_ends_, place_ends_;
  std::vector<int> owner_ends_;
  std::vector<int> send_counts_, send_begins_, receive_counts_, receive_begins_;

  int kept_begin_ = 0;
  int kept_count_ = 0;
  std::int64_t received_count_ = 0;
  Key least_ = 0;            ///< first key of the range
  std::int64_t range_ = 0;   ///< number of possible keys in the range
  std::int64_t lesser_ = 0;  ///< number of keys on lower ranks
  int passed_ = 0;
};

}  // namespace fabricbench::npb::is
