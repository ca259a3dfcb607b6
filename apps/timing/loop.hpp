// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "timing/clock.hpp"
#include "timing/plan.hpp"

namespace fabricbench::timing {

/// What the loop repeats. Only run() is timed; before() and after() stand outside the clock (fill,
/// verify; empty when timing counts) and learn the number of the iteration, which counts up over
/// warm-up and timed iterations alike.
template <class T>
concept Operation = requires(T operation, std::int64_t iteration) {
  { operation.before(iteration) } -> std::same_as<void>;
  { operation.run() } -> std::same_as<void>;
  { operation.after(iteration) } -> std::same_as<void>;
};

/// Runs `count` iterations that nobody times (pilot, warm-up, verification), the first numbered
/// `first`.
template <Operation Op>
void repeat(Op& operation, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i) {
    operation.before(i);
    operation.run();
    operation.after(i);
  }
}

/// The timed iterations, the first numbered `first`: the duration of one run() in nanoseconds is
/// kept for the last of every `stride`. samples_ns: shape (samples), preallocated; nothing is
/// allocated or printed here.
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

/// The timing loop. All processes call it together with the same plan: synchronises, runs the
/// warm-up, then the timed iterations. samples_ns: shape (plan.samples).
template <std::invocable Synchronise, Operation Op>
void measure(Synchronise synchronise, Op& operation, const Plan& plan, std::int64_t first,
             std::span<std::int64_t> samples_ns) {
  synchronise();
  repeat(operation, first, plan.warmup);
  sample(operation, first + plan.warmup, plan.stride, samples_ns);
}

/// What a sample of nothing takes: the loop's own part in every sample, the median of 1000, in
/// nanoseconds. None of it is subtracted.
[[nodiscard]] double overhead_ns();

}  // namespace fabricbench::timing
