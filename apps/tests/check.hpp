// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

/// Assertions for unit tests. A failed assertion prints its file and line, and the test continues.
namespace check {

inline int failures = 0;

inline void that(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
  ++failures;
}

/// Returns whether `action` throws an `Error` whose message contains `part`.
template <class Error, class Action>
bool throws(Action action, const std::string& part) {
  try {
    action();
  } catch (const Error& error) {
    if (std::string(error.what()).find(part) != std::string::npos) return true;
    std::fprintf(stderr, "message \"%s\" lacks \"%s\"\n", error.what(), part.c_str());
  }
  return false;
}

/// Returns the exit status of the test program: 1 if an assertion failed, else 0.
inline int result() {
  return failures == 0 ? 0 : 1;
}

}  // namespace check

#define CHECK(condition) ::check::that((condition), #condition, __FILE__, __LINE__)
