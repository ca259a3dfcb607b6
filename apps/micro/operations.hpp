// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "micro/benchmark.hpp"
#include "timing/clock.hpp"

namespace fabricbench::micro {

/// The operation of a measurement: the part's run() and nothing else.
struct TimedOperation {
  Part& part;

  void before(std::int64_t /*iteration*/) { part.before(); }
  void run() { part.run(); }
  void after(std::int64_t /*iteration*/) { part.after(); }
};

/// The operation with the injected slow-down: spins for `spin_ns` before run().
struct SlowedOperation {
  Part& part;
  std::int64_t spin_ns;

  void before(std::int64_t /*iteration*/) { part.before(); }
  void run() {
    const std::int64_t end = timing::now_ns() + spin_ns;
    while (timing::now_ns() < end) {
    }
    part.run();
  }
  void after(std::int64_t /*iteration*/) { part.after(); }
};

/// The operation of checked mode: fills before and verifies after every run(), both untimed.
/// Keeps the first wrong byte and verifies nothing after it.
struct CheckedOperation {
  Part& part;
  std::optional<Mismatch>& mismatch;
  bool flip_next;  ///< injected fault: corrupt the next payload

  void before(std::int64_t iteration) {
    part.before();
    part.fill(iteration);
    if (flip_next) flip_byte(part.outgoing());
    flip_next = false;
    part.settle();
  }
  void run() { part.run(); }
  void after(std::int64_t iteration) {
    part.after();
    part.settle();
    if (!mismatch) mismatch = part.verify(iteration);
  }
};

}  // namespace fabricbench::micro
