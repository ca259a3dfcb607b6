// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "timing/clock.hpp"
#include "timing/plan.hpp"

namespace fabricbench::timing {

/// An operation that the loop repeats. Only run() is timed. before() and after() receive the number
/// of the iteration; they fill and verify the payload in checked mode.
template <class T>
concept Operation = requires(T operation, std::int64_t iteration) {
  { operation.before(iteration) } -> std::same_as<void>;
  { operation.run() } -> std::same_as<void>;
  { operation.after(iteration) } -> std::same_as<void>;
};

/// Runs `count` untimed iterations (pilot, warm-up, verification); the number of the first is
/// `first`.
template <Operation Op>
void repeat(Op& operation, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i) {
    operation.before(i);
    operation.run();
    operation.after(i);
  }
}

/// Runs the timed iterations; the number of the first is `first`. Of every `stride` iterations
/// the duration of the last run() is kept, in nanoseconds. samples_ns: shape (samples),
/// preallocated. Allocates and prints nothing.
template <Operation Op>
void sample(Op& operation, std::int64_t first, std::int64_t stride,
            std::span<std::int64_t> samples_ns) {
  std::int64_t iteration = first;
  for (std::int64_t& duration : samples_ns) {
    for (std::int64_t i = 0; i < stride; ++i, ++iteration) {
      operation.before(iteration);
      const std::int64_t start = now_ns();
      operation.run();
      duration = now_ns() - start;
      operation.after(iteration);
    }
  }
}

/// The timing loop: synchronises, runs the warm-up, then the timed iterations. Collective; the
/// plan is the same on all processes. samples_ns: shape (plan.samples).
template <std::invocable Synchronise, Operation Op>
void measure(Synchronise synchronise, Op& operation, const Plan& plan, std::int64_t first,
             std::span<std::int64_t> samples_ns) {
  synchronise();
  repeat(operation, first, plan.warmup);
  sample(operation, first + plan.warmup, plan.stride, samples_ns);
}

/// The duration of an empty run() in nanoseconds, the median of 1000: the loop's own share in
/// every sample. It is not subtracted from the samples.
[[nodiscard]] double overhead_ns();

}  // namespace fabricbench::timing
