// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

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

/// How the loop synchronises, as named in the header of the output.
inline constexpr std::string_view synchronisation =
    "MPI_Barrier before each size; warm-up and timed iterations follow it without another";

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

/// The timing loop. All ranks of `comm` call it together with the same plan.
/// Synchronises, runs the warm-up, then the timed iterations; the duration of one run() in
/// nanoseconds is kept for the last of every `plan.stride` iterations. samples_ns: shape
/// (plan.samples), preallocated; nothing is allocated or printed here.
template <Operation Op>
void measure(MPI_Comm comm, Op& operation, const Plan& plan, std::int64_t first,
             std::span<std::int64_t> samples_ns) {
  MPI_Barrier(comm);
  repeat(operation, first, plan.warmup);
  std::int64_t iteration = first + plan.warmup;
  for (std::int64_t& sample : samples_ns) {
    for (std::int64_t i = 0; i < plan.stride; ++i, ++iteration) {
      operation.before(iteration);
      const std::int64_t start = now_ns();
      operation.run();
      sample = now_ns() - start;
      operation.after(iteration);
    }
  }
}

}  // namespace fabricbench::timing
