// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "micro/dimension.hpp"

namespace fabricbench::micro {

/// The options of the command line.
struct Options {
  std::vector<std::size_t>
      choices;  ///< indices of words of the benchmark's choice; {0} without a choice
  std::vector<std::int64_t> amounts;  ///< values of the benchmark's amount; {0} without an amount
  std::vector<std::int64_t> sizes_bytes;  ///< in the order in which they are measured
  std::int64_t rounds = 0;                ///< rounds of rank pairs; 0: all
  std::int64_t block =
      0;  ///< number of the block; each measures the rounds after the previous block's
  std::int64_t iterations = 1000;  ///< timed iterations for sizes up to 64 KiB
  std::int64_t warmup = 100;       ///< untimed iterations for sizes up to 64 KiB
  double time_limit_s = 0.0;       ///< per size; 0: none
  bool check = false;              ///< checked mode
  bool any_given = false;          ///< an option followed the benchmark's name
};

/// Returns the largest value of a list that is not empty.
[[nodiscard]] inline std::int64_t largest_of(const std::vector<std::int64_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

/// Parses the arguments after the benchmark's name, each option as `--name value` or
/// `--name=value`. The `dimensions` of the benchmark add options. Throws UsageError for an
/// unknown option, a value that is missing, malformed or out of range, a duplicate option, and
/// for sizes above `largest_size_bytes`.
[[nodiscard]] Options parse_options(std::span<const char* const> arguments,
                                    const Dimensions& dimensions, std::int64_t largest_size_bytes);

/// Returns the help text of the options that all benchmarks share.
[[nodiscard]] std::string_view options_help();

}  // namespace fabricbench::micro
