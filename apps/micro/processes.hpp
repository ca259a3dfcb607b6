// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fabricbench::micro {

/// The processes that measure together: the ranks of MPI_COMM_WORLD, or a server and its client.
/// Every member function but the accessors is collective and called outside the timed region.
class Processes {
 public:
  /// `printing_rank`: the rank that prints the report.
  Processes(int rank, int ranks, int printing_rank)
      : rank_(rank), ranks_(ranks), printing_rank_(printing_rank) {}
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  virtual ~Processes() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int printing_rank() const { return printing_rank_; }
  [[nodiscard]] bool prints() const { return rank_ == printing_rank_; }

  /// Returns whether synchronise() works now. Otherwise it works after the first Part::enter().
  [[nodiscard]] virtual bool connected() const { return true; }
  /// Returns when every process has called it. Uses the network that is measured.
  virtual void synchronise() = 0;
  /// The largest of the processes' values, which are 0 or more, on every process.
  [[nodiscard]] virtual std::int64_t largest(std::int64_t value) = 0;
  [[nodiscard]] bool all(bool holds) { return largest(holds ? 0 : 1) == 0; }

  /// The error of Part::enter() that holds for all processes; 0 if none has one.
  [[nodiscard]] virtual int common_error(int error) = 0;
  /// One line that describes an error of Part::enter().
  [[nodiscard]] virtual std::string error_text(int error) const = 0;

  /// On the printing rank, the samples of rank `from`: `own`, or `received` after it was filled.
  /// Empty on other ranks. Both spans have the same size.
  [[nodiscard]] virtual std::span<std::int64_t> fetch(int from, std::span<std::int64_t> own,
                                                      std::span<std::int64_t> received) = 0;

 private:
  int rank_;
  int ranks_;
  int printing_rank_;
};

}  // namespace fabricbench::micro
