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

/// What the command line asks for.
struct Options {
  std::vector<std::size_t> choices;   ///< words of the benchmark's choice, by index; {0} without
  std::vector<std::int64_t> amounts;  ///< of the benchmark's amount; {0} without
  std::vector<std::int64_t> sizes_bytes;  ///< in the order in which they are measured
  std::int64_t rounds = 0;                ///< of a tournament of all ranks; 0: all
  std::int64_t block = 0;                 ///< which of its rounds: where blocks of so many go on
  std::int64_t iterations = 1000;         ///< timed iterations for sizes up to 64 KiB
  std::int64_t warmup = 100;              ///< dropped iterations for sizes up to 64 KiB
  double time_limit_s = 0.0;              ///< per size; 0: none
  bool check = false;                     ///< checked mode
  bool any_given = false;                 ///< an option followed the benchmark's name
};

/// The largest of at least one value.
[[nodiscard]] inline std::int64_t largest_of(const std::vector<std::int64_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

/// Parses the arguments after the benchmark's name, each option as `--name value` or
/// `--name=value`. What the benchmark varies (`dimensions`) has options of its own. Throws
/// UsageError for an unknown option, a value that is missing, malformed or out of range, an option
/// given twice, and for sizes above `largest_size_bytes`.
[[nodiscard]] Options parse_options(std::span<const char* const> arguments,
                                    const Dimensions& dimensions, std::int64_t largest_size_bytes);

/// What --help prints after the list of benchmarks.
[[nodiscard]] std::string_view options_help();

}  // namespace fabricbench::micro
