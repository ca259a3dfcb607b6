// SPDX-License-Identifier: Apache-2.0
//
// IS: ranks integer keys (RNR-94-007, kernel IS). Each iteration changes two keys and ranks all
// keys again: it orders the keys by bucket, assigns every rank a range of buckets with about the
// same number of keys, and counts the occurrences of each key in the range.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npb/driver/kernel.hpp"
#include "npb/driver/phases.hpp"
#include "npb/driver/ranks.hpp"
#include "npb/driver/reference.hpp"
#include "npb/is/keys.hpp"
#include "npb/is/ranking.hpp"

namespace fabricbench::npb {
namespace {

using namespace is;

enum PhaseIndex { total, computation, communication, verification };
constexpr std::array<Phase, 4> phases{{{.name = "total", .communication = false},
                                       {.name = "rcomp", .communication = false},
                                       {.name = "rcomm", .communication = true},
                                       {.name = "verify", .communication = false}}};
constexpr std::array<std::string_view, 1> layouts{"auto"};

constexpr std::size_t test_keys = 5;

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

class Ranking {
 public:
  Ranking(const Problem& problem, MPI_Comm comm);

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
  void share_out();
  void exchange();
  void verify_partially(int iteration);

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
  std::array<TestKey, test_keys> test_keys_;

  std::vector<Key> keys_;
  std::vector<Key> ordered_;   ///< keys by bucket; those of other ranks are sent from here
  std::vector<Key> incoming_;  ///< keys from other ranks; this rank's own stay in ordered_
  std::vector<std::uint32_t> population_;  ///< counts of this rank's keys, then ranks

  /// Keys in each bucket, followed by the test keys, which so need no separate message.
  std::vector<std::uint32_t> counts_, totals_;
  std::vector<std::uint32_t> bucket_ends_;
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

Ranking::Ranking(const Problem& problem, MPI_Comm comm)
    : comm_(comm),
      ranks_(static_cast<std::size_t>(problem.ranks)),
      test_keys_(load_test_keys(problem.problem_class)) {
  MPI_Comm_rank(comm, &rank_);
  const Size size = size_of_class(problem.problem_class);
  const int log2 = buckets_log2(problem.problem_class, problem.ranks);
  max_key_ = Key{1} << size.max_key_log2;
  shift_ = size.max_key_log2 - log2;
  buckets_ = std::size_t{1} << log2;
  keys_.resize((std::size_t{1} << size.keys_log2) / ranks_);
  ordered_.resize(keys_.size());
  for (auto* table : {&counts_, &totals_}) table->resize(buckets_ + test_keys);
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

void Ranking::change_keys(int iteration) {
  if (rank_ != 0) return;
  const auto change = static_cast<std::size_t>(iteration);
  keys_[change] = static_cast<Key>(iteration);
  keys_[change + iterations] = max_key_ - static_cast<Key>(iteration);
}

void Ranking::order_by_bucket() {
  const std::span counts = std::span(counts_).first(buckets_);
  count_buckets(keys_, shift_, counts);
  const auto here = static_cast<std::int64_t>(keys_.size());
  for (std::size_t i = 0; i < test_keys; ++i) {
    const auto [owner, index] = std::div(test_keys_[i].index, here);
    counts_[buckets_ + i] = owner == rank_ ? keys_[static_cast<std::size_t>(index)] : 0;
  }
  std::exclusive_scan(counts.begin(), counts.end(), bucket_ends_.begin(), std::uint32_t{0});
  spread(keys_, shift_, bucket_ends_, ordered_);
}

/// Computes the owner of each bucket and the number of keys that this rank sends to it.
void Ranking::share_out() {
  const std::span totals = std::span(totals_).first(buckets_);
  distribute(totals, static_cast<std::int64_t>(keys_.size()), owner_ends_);
  std::size_t bucket = 0;
  int sent = 0;
  for (std::size_t owner = 0; owner < ranks_; ++owner) {
    bucket = std::max(bucket, static_cast<std::size_t>(owner_ends_[owner]));
    send_begins_[owner] = sent;
    sent = bucket == 0 ? 0 : static_cast<int>(bucket_ends_[bucket - 1]);
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

void Ranking::exchange() {
  MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, comm_);
  std::exclusive_scan(receive_counts_.begin(), receive_counts_.end(), receive_begins_.begin(), 0);
  received_count_ = std::int64_t{receive_begins_.back()} + receive_counts_.back();
  make_room(incoming_, received_count_);
  MPI_Alltoallv(ordered_.data(), send_counts_.data(), send_begins_.data(), MPI_UINT32_T,
                incoming_.data(), receive_counts_.data(), receive_begins_.data(), MPI_UINT32_T,
                comm_);
}

void Ranking::verify_partially(int iteration) {
  for (std::size_t i = 0; i < test_keys; ++i) {
    const Key key = totals_[buckets_ + i];
    if (key < least_ || key - least_ >= range_) continue;
    passed_ += lesser_ + population_[key - least_] == test_keys_[i].rank_in(iteration);
  }
}

void Ranking::rank(int iteration) {
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

bool Ranking::sorts() {
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

Outcome run(const Problem& problem, MPI_Comm comm) {
  Ranking ranking(problem, comm);
  ranking.rank(1);  // Untimed: touches all memory.
  ranking.reset_passed();
  npb_phases_clear();

  MPI_Barrier(comm);
  npb_phase_begin(total);
  for (int iteration = 1; iteration <= iterations; ++iteration) ranking.rank(iteration);
  npb_phase_end(total);

  int passed = ranking.passed();
  MPI_Allreduce(MPI_IN_PLACE, &passed, 1, MPI_INT, MPI_SUM, comm);
  const bool sorted = ranking.sorts();

  const int tests = iterations * static_cast<int>(test_keys);
  const auto keys =
      static_cast<double>(std::int64_t{1} << size_of_class(problem.problem_class).keys_log2);
  return {.operations = iterations * keys,
          .verified = passed == tests && sorted,
          .text = " Test keys ranked right: " + std::to_string(passed) + " of " +
                  std::to_string(tests) + "\n Keys sorted: " + (sorted ? "yes" : "no") + "\n"};
}

std::string refusal(const Problem& problem) {
  const Size size = size_of_class(problem.problem_class);
  return refuse_ranks(std::string("IS class ") + problem.problem_class, problem.ranks,
                      size.least_ranks, size.most_ranks);
}

constexpr Kernel integer_sort{
    .name = "IS",
    .operation = "keys ranked",
    .layouts = layouts,
    .phases = phases,
    .size =
        [](char problem_class) {
          return std::array<std::int64_t, 3>{
              std::int64_t{1} << size_of_class(problem_class).keys_log2, 0, 0};
        },
    .iterations = [](char) { return iterations; },
    .refusal = refusal,
    .bytes_per_rank =
        [](const Problem& problem) { return expected_bytes(problem.problem_class, problem.ranks); },
    .parameters = [](const Problem&) { return std::string(); },
    .run = run,
};

}  // namespace

const Kernel& kernel() {
  return integer_sort;
}

}  // namespace fabricbench::npb
