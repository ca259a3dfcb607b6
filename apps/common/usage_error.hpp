// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "common/complain.h"

namespace fabricbench {

inline constexpr int exit_verified = 0;
inline constexpr int exit_wrong = 1;
inline constexpr int exit_bad_input = 2;

/// Bad input: the message says what was wrong, where, what was expected and what to do. The program
/// ends with exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Prints "program: text" as one line on stderr.
inline void complain(std::string_view program, const std::string& text) {
  complain_as(std::string(program).c_str(), text.c_str());
}

}  // namespace fabricbench
