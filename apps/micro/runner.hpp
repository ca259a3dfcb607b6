// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "micro/benchmark.hpp"
#include "micro/fault.hpp"
#include "micro/options.hpp"
#include "micro/report.hpp"
#include "timing/plan.hpp"

namespace fabricbench::micro {

/// Runs one benchmark over all its sizes and reports it. Every member function is collective.
class Runner {
 public:
  /// Throws std::bad_alloc.
  Runner(const Benchmark& benchmark, const Options& options, const Fault& fault, const World& world,
         Report& report);

  /// Measures size after size; stops after the first one with a wrong answer. Returns whether all
  /// answers were right.
  bool run();

 private:
  /// What was run for one size.
  struct Count {
    std::int64_t pilot = 0;
    timing::Plan plan;
    std::int64_t verification = 0;
  };

  Count measure_size();
  template <class Op>
  Count measure_with(Op& operation);
  void verify_once(std::int64_t iteration);
  void report_size(const Count& count);
  [[nodiscard]] bool all_verified() const;

  const Benchmark& benchmark_;
  const Options& options_;
  const Fault& fault_;
  const World world_;
  Report& report_;
  Exchange exchange_;
  std::vector<std::int64_t>
      samples_ns_;  ///< shape (max_samples): this rank's, then on rank 0 each reporting rank's
  std::optional<Mismatch> mismatch_;  ///< this rank's first wrong byte
  Traffic payload_;
};

}  // namespace fabricbench::micro
