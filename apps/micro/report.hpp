// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "micro/summary.hpp"

namespace fabricbench::micro {

/// The version or commit of this program.
[[nodiscard]] std::string_view version();

/// Returns `value` with `decimals` decimal places, in every locale.
[[nodiscard]] std::string fixed(double value, int decimals);

/// The output on stdout, kept in memory until flush(). Only an active report, that of rank 0,
/// prints.
class Report {
 public:
  explicit Report(bool active) : active_(active) {}

  /// A line #@key=value of the header.
  void key(std::string_view name, std::string_view value);
  void key(std::string_view name, std::integral auto value) { key(name, std::to_string(value)); }

  /// The line with the names of the columns.
  void columns();

  /// The columns that all samples of one quantity at one point share.
  struct Series {
    std::string_view benchmark, case_name, metric;
    std::optional<std::int64_t> msg_size_bytes;
    double values_per_run;
  };
  /// One row per sample of `rank`; samples_ns (shape: samples) are divided by `values_per_run` and
  /// printed in microseconds with three decimals.
  void rows(const Series& series, int rank, std::span<const std::int64_t> samples_ns);
  /// One row per statistic of the samples of many ranks, `METRIC:median` and so on, in the same
  /// unit.
  void summary(const Series& series, const Summary& summary);

  /// Writes all kept lines in one call.
  void flush();

  /// False after a write to stdout failed.
  [[nodiscard]] bool written() const { return written_; }

 private:
  bool active_;
  bool written_ = true;
  std::string text_;
};

}  // namespace fabricbench::micro
