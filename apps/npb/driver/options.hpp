// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "npb/driver/kernel.hpp"

namespace fabricbench::npb {

struct Options {
  char problem_class = 0;
  bool timers = false;
  std::string layout = "auto";
  int buckets = 0;                           ///< 0: those of the class
  std::optional<std::int64_t> memory_bytes;  ///< limit for the sum over the ranks of a node
};

/// Parses the command line (without the program's name). Throws UsageError.
[[nodiscard]] Options parse_options(std::span<const char* const> arguments, const Kernel& kernel);

[[nodiscard]] std::string options_help(const Kernel& kernel);

/// Returns whether FABRICBENCH_NPB_FAULT=state requests a perturbed state. Throws UsageError for
/// any other value.
[[nodiscard]] bool parse_fault(const char* text);

}  // namespace fabricbench::npb
