// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace fabricbench::micro {

/// Bad input: the message says what was wrong, where, what was expected and what to do. The program
/// ends with exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace fabricbench::micro
