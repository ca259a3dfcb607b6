// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fabricbench::micro {

/// The largest number of ranks whose samples are printed; of more ranks the output has a summary.
inline constexpr std::size_t most_listed_ranks = 64;

/// Values in nanoseconds. A median of an even number of values is the mean of the two middle ones.
struct Summary {
  double median;     ///< of all samples of all ranks
  double mean;       ///< likewise
  double rank_mean;  ///< mean of the medians of the ranks
  double rank_min;   ///< least of them
  double rank_max;   ///< largest of them
};

/// Collects the samples of one quantity from many ranks.
class Summariser {
 public:
  /// Adds the samples of one rank, at least one.
  void add(std::span<const std::int64_t> samples_ns);
  /// Of at least one rank. Reorders what was added.
  [[nodiscard]] Summary result();

 private:
  std::vector<std::int64_t> samples_;
  std::vector<double> medians_;  ///< of each rank
};

}  // namespace fabricbench::micro
