// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/world.hpp"

namespace fabricbench {

/// Starts MPI, calls `run` and returns its exit status; the main function of every MPI program.
/// For bad input (`error`, or a UsageError) rank 0 prints one line and the exit status is 2.
/// For any other exception the rank prints it and aborts all ranks.
[[nodiscard]] int run_program(const std::string& program, int argc, char** argv,
                              const std::string& error,
                              const std::function<int(const World&)>& run);

/// Writes to stdout. Returns whether the complete text was written.
bool print(std::string_view text);

}  // namespace fabricbench
