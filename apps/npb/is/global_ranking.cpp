// SPDX-License-Identifier: Apache-2.0
#include "npb/is/global_ranking.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>

#include "npb/driver/phases.hpp"
#include "npb/driver/reference.hpp"
#include "npb/is/ranking.hpp"

namespace fabricbench::npb::is {
namespace {

/// Keys are spread over at most 512 places at once, whose open cache lines fit into the first-level
/// cache. With more buckets, a place is a pair of buckets.
constexpr int most_places_log2 = 9;

std::array<TestKey, test_keys> load_test_keys(char problem_class) {
  std::array<TestKey, test_keys> keys{};
  for (std::size_t i = 0; i < test_keys; ++i) {
    const auto value = [&](const char* name) {
      return reference("IS", problem_class, std::string(name) + "." + std::to_string(i));
    };
    keys[i] = {.index = static_cast<std::int64_t>(value("index")),
               .rank = static_cast<std::int64_t>(value("rank")),
               .step = static_cast<int>(value("step")),
               .lag = static_cast<int>(value("lag"))};
  }
  return keys;
}

/// Allocates `count` elements without copying the old elements.
template <class T>
void make_room(std::vector<T>& elements, std::int64_t count) {
  if (std::ssize(elements) >= count) return;
  elements = std::vector<T>();  // = {} would not free the memory
  elements.resize(static_cast<std::size_t>(with_reserve(count)));
}

/// Returns a checksum of keys. One wrong key always changes it, two wrong keys almost always.
std::uint64_t checksum(std::span<const Key> keys) {
  std::uint64_t sum = 0;
  for (const Key key : keys) {
    const std::uint64_t mixed = (key + std::uint64_t{1}) * 0x9E3779B97F4A7C15;
    sum += (mixed ^ (mixed >> 32)) * 0xBF58476D1CE4E5B9;
  }
  return sum;
}

}  // namespace

GlobalRanking::GlobalRanking(const Problem& problem, MPI_Comm comm)
    : comm_(comm),
      ranks_(static_cast<std::size_t>(problem.ranks)),
      test_keys_(load_test_keys(problem.problem_class)) {
  MPI_Comm_rank(comm, &rank_);
  const Size size = size_of_class(problem.problem_class);
  const int log2 = buckets_log2(problem.problem_class, problem.buckets);
  max_key_ = Key{1} << size.max_key_log2;
  shift_ = size.max_key_log2 - log2;
  buckets_ = std::size_t{1} << log2;
  keys_.resize((std::size_t{1} << size.keys_log2) / ranks_);
  ordered_.resize(keys_.size());
  for (auto* table : {&counts_, &totals_}) table->resize(buckets_ + test_keys);
  merged_ = std::size_t{1} << std::max(log2 - most_places_log2, 0);
  place_ends_.resize(buckets_ / merged_);
  bucket_ends_.resize(buckets_);
  owner_ends_.resize(ranks_);
  for (auto* table : {&send_counts_, &send_begins_, &receive_counts_, &receive_begins_}) {
    table->resize(ranks_);
  }

  generate_keys(static_cast<std::uint64_t>(rank_) * keys_.size(), size.max_key_log2, keys_);
  // The partial verification detects only a key that moves to the other side of a test key. The
  // first key is at 0.774 of the largest key. It passes a test key in all classes if it grows by an
  // eighth of the largest key.
  if (problem.fault && rank_ == 0) keys_.front() ^= 3 * (max_key_ / 16);
}

void GlobalRanking::change_keys(int iteration) {
  if (rank_ != 0) return;
  const auto change = static_cast<std::size_t>(iteration);
  keys_[change] = static_cast<Key>(iteration);
  keys_[change + iterations] = max_key_ - static_cast<Key>(iteration);
}

void GlobalRanking::order_by_bucket() {
  const std::span counts = std::span(counts_).first(buckets_);
  count_buckets(keys_, shift_, counts);
  const auto here = static_cast<std::int64_t>(keys_.size());
  for (std::size_t i = 0; i < test_keys; ++i) {
    const auto [owner, index] = std::div(test_keys_[i].index, here);
    counts_[buckets_ + i] = owner == rank_ ? keys_[static_cast<std::size_t>(index)] : 0;
  }
  std::inclusive_scan(counts.begin(), counts.end(), bucket_ends_.begin());
  for (std::size_t i = 0; i < place_ends_.size(); ++i) place_ends_[i] = begin_of(i * merged_);
  spread(keys_, shift_ + std::countr_zero(merged_), place_ends_, ordered_);
}

/// Separates the buckets of a place, so that those before `bucket` come first.
void GlobalRanking::split_before(std::size_t bucket) {
  const std::size_t first = bucket / merged_ * merged_;
  if (first == bucket) return;
  const std::span place = std::span(ordered_).subspan(
      begin_of(first), bucket_ends_[first + merged_ - 1] - begin_of(first));
  const Key bound = static_cast<Key>(bucket) << shift_;
  std::ranges::partition(place, [bound](Key key) { return key < bound; });
}

/// Computes the owner of each bucket and the number of keys that this rank sends to it.
void GlobalRanking::share_out() {
  const std::span totals = std::span(totals_).first(buckets_);
  distribute(totals, static_cast<std::int64_t>(keys_.size()), owner_ends_);
  std::size_t bucket = 0;
  int sent = 0;
  for (std::size_t owner = 0; owner < ranks_; ++owner) {
    bucket = std::max(bucket, static_cast<std::size_t>(owner_ends_[owner]));
    send_begins_[owner] = sent;
    split_before(bucket);
    sent = static_cast<int>(begin_of(bucket));
    send_counts_[owner] = sent - send_begins_[owner];
  }

  const auto me = static_cast<std::size_t>(rank_);
  kept_begin_ = send_begins_[me];
  kept_count_ = std::exchange(send_counts_[me], 0);
  const int first = rank_ == 0 ? 0 : owner_ends_[me - 1];
  least_ = static_cast<Key>(first) << shift_;
  range_ = static_cast<std::int64_t>(owner_ends_[me] - first) << shift_;
  lesser_ = std::accumulate(totals.begin(), totals.begin() + first, std::int64_t{0});
}

void GlobalRanking::exchange() {
  MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, comm_);
  std::exclusive_scan(receive_counts_.begin(), receive_counts_.end(), receive_begins_.begin(), 0);
  received_count_ = std::int64_t{receive_begins_.back()} + receive_counts_.back();
  make_room(incoming_, received_count_);
  MPI_Alltoallv(ordered_.data(), send_counts_.data(), send_begins_.data(), MPI_UINT32_T,
                incoming_.data(), receive_counts_.data(), receive_begins_.data(), MPI_UINT32_T,
                comm_);
}

void GlobalRanking::verify_partially(int iteration) {
  for (std::size_t i = 0; i < test_keys; ++i) {
    const Key key = totals_[buckets_ + i];
    if (key < least_ || key - least_ >= range_) continue;
    passed_ += lesser_ + population_[key - least_] == test_keys_[i].rank_in(iteration);
  }
}

void GlobalRanking::rank(int iteration) {
  npb_phase_begin(computation);
  change_keys(iteration);
  order_by_bucket();
  npb_phase_end(computation);

  npb_phase_begin(communication);
  MPI_Allreduce(counts_.data(), totals_.data(), static_cast<int>(totals_.size()), MPI_UINT32_T,
                MPI_SUM, comm_);
  npb_phase_end(communication);

  npb_phase_begin(computation);
  share_out();
  npb_phase_end(computation);

  npb_phase_begin(communication);
  exchange();
  npb_phase_end(communication);

  npb_phase_begin(computation);
  make_room(population_, range_);
  std::ranges::fill(population(), 0);
  count_keys(kept(), least_, population());
  count_keys(received(), least_, population());
  rank_keys(population());
  verify_partially(iteration);
  npb_phase_end(computation);
}

bool GlobalRanking::sorts() {
  npb_phase_begin(verification);
  std::array<std::uint64_t, 2> before{keys_.size(), checksum(keys_)};
  keys_ = std::vector<Key>();
  std::vector<Key> sorted(kept().size() + received().size());
  bool in_range = true;
  for (const auto part : {kept(), received()}) {
    for (const Key key : part) {
      // Wrong ranks must not cause writes outside the array.
      const bool mine = key >= least_ && key - least_ < range_;
      if (mine && population_[key - least_] < sorted.size()) {
        sorted[population_[key - least_]++] = key;
      } else {
        in_range = false;
      }
    }
  }
  std::array<std::uint64_t, 2> after{sorted.size(), checksum(sorted)};
  MPI_Allreduce(MPI_IN_PLACE, before.data(), 2, MPI_UINT64_T, MPI_SUM, comm_);
  MPI_Allreduce(MPI_IN_PLACE, after.data(), 2, MPI_UINT64_T, MPI_SUM, comm_);

  const Key largest = sorted.empty() ? 0 : sorted.back();
  Key largest_before = 0;
  MPI_Exscan(&largest, &largest_before, 1, MPI_UINT32_T, MPI_MAX, comm_);
  int good = in_range && before == after && std::ranges::is_sorted(sorted) &&
             (rank_ == 0 || sorted.empty() || largest_before <= sorted.front());
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, comm_);
  npb_phase_end(verification);
  return good != 0;
}

}  // namespace fabricbench::npb::is
