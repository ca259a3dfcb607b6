// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

/// Assertions of the unit tests: a failed one is printed with its place, the others still run.
namespace check {

inline int failures = 0;

inline void that(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
  ++failures;
}

/// Whether `action` throws an `Error` whose message contains `part`.
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

/// What main() returns.
inline int result() {
  return failures == 0 ? 0 : 1;
}

}  // namespace check

#define CHECK(condition) ::check::that((condition), #condition, __FILE__, __LINE__)
