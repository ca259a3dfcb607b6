// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace fabricbench {

inline constexpr int exit_verified = 0;
inline constexpr int exit_wrong = 1;
inline constexpr int exit_bad_input = 2;

/// Bad input: the message says what was wrong, where, what was expected and what to do. The program
/// ends with exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr const char* output_incomplete =
    "stdout: the output could not be written in full; is the disk full?";

}  // namespace fabricbench
