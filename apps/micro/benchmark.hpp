// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/world.hpp"
#include "micro/buffer.hpp"
#include "micro/pattern.hpp"

namespace fabricbench::micro {

/// One rank's part in a benchmark that exchanges messages with one peer. The buffers serve all
/// sizes of a launch.
struct Exchange {
  World world;
  int peer;
  bool initiates;  ///< this rank sends first, and reports
  int msg_size;    ///< bytes, set before each size
  Buffer send;
  Buffer receive;
};

/// What crosses from rank to rank, all ranks together.
struct Traffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

/// A benchmark as a record. Those without run() send nothing: MPI_Init, header, MPI_Finalize.
struct Benchmark {
  std::string_view name;
  std::string_view summary;  ///< one line, for `list`
  std::string_view metric;   ///< name of the reported value, with its unit

  /// A reported value is the duration of run() divided by this.
  int values_per_run = 1;

  /// Why this number of ranks cannot be used and what to do; empty if it can.
  std::string (*rank_error)(int ranks) = nullptr;
  /// Ranks 0 … n-1 report values.
  int (*reporting_ranks)(int ranks) = nullptr;
  /// `case` column: "k=v k=v", empty for the plain case.
  std::string (*case_name)(int ranks) = nullptr;

  /// Makes this rank's buffers for sizes up to `largest_size` bytes. Throws std::bad_alloc.
  Exchange (*set_up)(const World& world, std::int64_t largest_size) = nullptr;
  /// One iteration: the timed region. Nothing but MPI_ calls.
  void (*run)(const Exchange& exchange) = nullptr;
  /// Writes the payload that run() sends in this iteration.
  void (*fill)(const Exchange& exchange, std::int64_t iteration) = nullptr;
  /// First wrong byte of what run() received in this iteration, if any.
  std::optional<Mismatch> (*verify)(const Exchange& exchange, std::int64_t iteration) = nullptr;
  /// What one iteration moves.
  Traffic (*moved)(int ranks, std::int64_t msg_size) = nullptr;

  [[nodiscard]] bool sends_messages() const { return run != nullptr; }
};

extern const Benchmark pingpong;

/// All benchmarks of this program.
[[nodiscard]] std::span<const Benchmark* const> benchmarks();

/// The benchmark of that name. Throws UsageError if there is none.
[[nodiscard]] const Benchmark& find_benchmark(std::string_view name);

}  // namespace fabricbench::micro
