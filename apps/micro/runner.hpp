// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "micro/benchmark.hpp"
#include "micro/options.hpp"
#include "micro/report.hpp"
#include "timing/plan.hpp"

namespace fabricbench::micro {

/// Runs one benchmark over all its sizes and cases and reports it. Every member function is
/// collective.
class Runner {
 public:
  /// Throws UsageError if memory does not suffice, std::bad_alloc.
  Runner(const Benchmark& benchmark, const Options& options, const Fault& fault, const World& world,
         Report& report);

  /// Measures size after size; stops after the first one with a wrong answer. Returns whether all
  /// answers were right.
  bool run();

 private:
  /// The numbers of iterations of one quantity at one point.
  struct Count {
    std::int64_t pilot = 0;
    timing::Plan plan;
    std::int64_t verification = 0;

    [[nodiscard]] std::int64_t all() const {
      return pilot + plan.warmup + plan.iterations() + verification;
    }
  };

  /// A case and the ranks that report its values.
  struct Told {
    std::string case_name;
    std::vector<int> ranks;

    [[nodiscard]] bool by(int rank) const;
  };

  bool measure_size(std::int64_t size);
  void measure_point(const Point& point);
  void measure_turn(Part& part, const Quantity& quantity, const Point& point);
  void calibrate();
  Count measure_marked(Part& part, const Quantity& quantity, const Point& point);
  Count measure_part(Part& part, const Quantity& quantity, const Point& point);
  template <class Op>
  Count measure_with(Op& operation, const Quantity& quantity, const Point& point);
  [[nodiscard]] bool enter(Part& part, const Quantity& quantity, const Point& point);
  [[nodiscard]] std::vector<Told> told(const Part& part, const Point& point) const;
  void report_part(const Part& part, const Quantity& quantity, const Point& point,
                   const Count& count);
  void report_facts(const Part& part, const std::string& suffix, const Count& count);
  void report_samples(const Told& told, const Report::Series& series, const Count& count,
                      bool of_first_quantity);
  [[nodiscard]] std::string interval_label(const Part& part, const Quantity& quantity,
                                           const Point& point) const;
  [[nodiscard]] std::string label(const Quantity& quantity, const Point& point,
                                  const std::string& case_name) const;
  [[nodiscard]] bool all_verified() const;
  [[nodiscard]] std::optional<std::int64_t> added_size() const;
  [[nodiscard]] int reporting() const { return benchmark_.reporting(world_.ranks); }

  const Benchmark& benchmark_;
  const Options& options_;
  const Fault& fault_;
  const World world_;
  Report& report_;
  std::vector<std::unique_ptr<Part>> parts_;          ///< one for each quantity
  std::vector<std::int64_t> samples_ns_;              ///< shape (max_samples): this rank's
  std::vector<std::int64_t> received_ns_;             ///< on rank 0: those of another rank
  std::map<std::int64_t, double> first_quantity_ns_;  ///< on rank 0: its median by size
  std::map<std::size_t, std::int64_t> refused_;  ///< by choice: smallest amount that was skipped
  std::optional<Mismatch> mismatch_;             ///< this rank's first wrong byte
  Traffic payload_;
};

}  // namespace fabricbench::micro
