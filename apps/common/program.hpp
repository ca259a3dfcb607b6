// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/world.hpp"

namespace fabricbench {

/// The main of every MPI program: starts MPI and returns what `run` returns, its exit status. Bad
/// input (`error`, found before, or a UsageError) is one line of rank 0's and exit status 2; of any
/// other exception the rank says what it was, and all ranks are aborted.
[[nodiscard]] int run_program(std::string_view program, int argc, char** argv,
                              const std::string& error,
                              const std::function<int(const World&)>& run);

}  // namespace fabricbench
