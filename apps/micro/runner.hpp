// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "micro/benchmark.hpp"
#include "micro/job.hpp"
#include "micro/points.hpp"
#include "micro/processes.hpp"
#include "micro/report.hpp"
#include "timing/plan.hpp"

namespace fabricbench::micro {

/// Measures one benchmark at all its points and reports it. Every member function is collective.
class Runner {
 public:
  /// `parts`: one for each quantity of the benchmark. Throws std::bad_alloc. The references must
  /// outlive the runner.
  Runner(const Job& job, Processes& processes, std::vector<std::unique_ptr<Part>> parts,
         Report& report);

  /// Measures point after point and stops after the first wrong answer. Returns whether all answers
  /// were right.
  bool run();

 private:
  /// The iterations of one quantity at one point.
  struct Count {
    std::int64_t pilot = 0;
    timing::Plan plan;
    std::int64_t verification = 0;

    [[nodiscard]] std::int64_t all() const {
      return pilot + plan.warmup + plan.iterations() + verification;
    }
  };

  /// One case and the ranks that report values of it.
  struct CaseReport {
    std::string case_name;
    std::vector<int> ranks;

    [[nodiscard]] bool reported_by(int rank) const;
  };

  /// The smallest amount that could not be measured, and the reason.
  struct Refusal {
    std::int64_t amount;
    std::string reason;
  };

  [[nodiscard]] bool measure(const Points& points);
  void measure_point(const Point& point);
  void measure_turn(Part& part, const Quantity& quantity, const Point& point);
  void calibrate();
  void calibrate_barriers();
  Count measure_marked(Part& part, const Quantity& quantity, const Point& point);
  Count measure_part(Part& part, const Quantity& quantity, const Point& point);
  template <class Op>
  Count measure_with(Op& operation, const Quantity& quantity, const Point& point);
  template <class Op>
  [[nodiscard]] double pilot_s(Op& operation);
  [[nodiscard]] bool enter(Part& part, const Point& point);
  [[nodiscard]] std::vector<CaseReport> case_reports(const Part& part, const Point& point) const;
  void report_part(const Part& part, const Quantity& quantity, const Point& point,
                   const Count& count);
  void report_facts(const Part& part, const std::string& suffix, const Count& count);
  void report_samples(const CaseReport& report, const Report::Series& series, const Count& count,
                      bool of_first_quantity);
  void report_skipped(const Point& point, std::string_view reason);
  [[nodiscard]] std::optional<std::int64_t> added_size();
  [[nodiscard]] int reporting() const { return benchmark_.reporting(processes_.ranks()); }

  const Job& job_;
  const Benchmark& benchmark_;
  const Options& options_;
  Processes& processes_;
  Report& report_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::int64_t> samples_ns_;   ///< shape (max_samples): this rank's
  std::vector<std::int64_t> received_ns_;  ///< shape (max_samples): another rank's, for printing
  /// On the printing rank: the median of the first quantity, by size.
  std::map<std::int64_t, double> first_quantity_ns_;
  std::map<std::size_t, Refusal> refusals_;  ///< by choice
  std::optional<Mismatch> mismatch_;         ///< this rank's first wrong byte
  bool calibrated_ = false;
  Traffic payload_;
};

}  // namespace fabricbench::micro
