// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "micro/benchmark.hpp"
#include "micro/fault.hpp"
#include "timing/clock.hpp"

namespace fabricbench::micro {

/// What the timing loop repeats in a measurement: the benchmark's run() and nothing else.
struct TimedOperation {
  const Benchmark& benchmark;
  const Exchange& exchange;

  void before(std::int64_t /*iteration*/) {}
  void run() { benchmark.run(exchange); }
  void after(std::int64_t /*iteration*/) {}
};

/// The injected slow-down: reporting ranks spin before run() for so long that each reported value
/// grows by fault.slow_us.
struct SlowedOperation {
  const Benchmark& benchmark;
  const Exchange& exchange;
  std::int64_t spin_ns;

  SlowedOperation(const Benchmark& b, const Exchange& x, const Fault& fault)
      : benchmark(b),
        exchange(x),
        spin_ns(x.initiates ? static_cast<std::int64_t>(1e3 * fault.slow_us * b.values_per_run)
                            : 0) {}

  void before(std::int64_t /*iteration*/) {}
  void run() {
    const std::int64_t end = timing::now_ns() + spin_ns;
    while (timing::now_ns() < end) {
    }
    benchmark.run(exchange);
  }
  void after(std::int64_t /*iteration*/) {}
};

/// Fills before and verifies after every run(), outside the clock. Keeps the first wrong byte and
/// then looks no further.
struct CheckedOperation {
  const Benchmark& benchmark;
  const Exchange& exchange;
  std::optional<Mismatch>& mismatch;
  bool flip_next;  ///< injected fault: corrupt the next payload

  CheckedOperation(const Benchmark& b, const Exchange& x, const Fault& fault,
                   std::optional<Mismatch>& first_mismatch)
      : benchmark(b),
        exchange(x),
        mismatch(first_mismatch),
        flip_next(fault.kind == Fault::Kind::flip && x.world.rank == 0) {}

  void before(std::int64_t iteration) {
    benchmark.fill(exchange, iteration);
    if (flip_next) flip_byte(exchange.send.first(static_cast<std::size_t>(exchange.msg_size)));
    flip_next = false;
  }
  void run() { benchmark.run(exchange); }
  void after(std::int64_t iteration) {
    if (!mismatch) mismatch = benchmark.verify(exchange, iteration);
  }
};

}  // namespace fabricbench::micro
