// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "micro/benchmark.hpp"
#include "micro/fault.hpp"
#include "micro/options.hpp"
#include "micro/report.hpp"

namespace fabricbench::micro {

/// The measurement that one command line requests.
struct Job {
  const char* program;  ///< its name, for messages
  const Benchmark* benchmark = nullptr;
  Options options = {};
  Fault fault = {};
};

/// Returns the job for the arguments after the benchmark's name and for FABRICBENCH_MICRO_FAULT.
/// Throws UsageError.
[[nodiscard]] Job parse_job(const char* program, const Benchmark& benchmark,
                            std::span<const char* const> arguments);

/// The facts about the launch in the header.
struct Platform {
  std::vector<std::pair<std::string_view, std::string>> libraries;  ///< key and value, in order
  int ranks = 0;
  std::string hosts = {};  ///< comma-separated, in order of rank; empty: not printed
};

/// Prints the header of the output, except for the lines that the runner prints. Measures the
/// clock.
void print_header(Report& report, const Job& job, const Platform& platform);

/// Prints the last line and flushes the output. Returns the exit status.
[[nodiscard]] int finish(Report& report, const Job& job, bool verified);

}  // namespace fabricbench::micro
