// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fabricbench {

inline constexpr int exit_verified = 0;
inline constexpr int exit_wrong = 1;
inline constexpr int exit_bad_input = 2;

/// Bad input. The message says what is wrong, where, what is expected and what to do. The exit
/// status of the program is 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Prints one line on stderr in one write, so that lines of several ranks do not mix.
inline void complain(std::string_view program, const std::string& what) {
  const std::string line = std::string(program) + ": " + what + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace fabricbench
