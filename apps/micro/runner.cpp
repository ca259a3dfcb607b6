// SPDX-License-Identifier: Apache-2.0
#include "micro/runner.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "common/complain.h"
#include "micro/labels.hpp"
#include "micro/operations.hpp"
#include "micro/points.hpp"
#include "micro/refine.hpp"
#include "micro/summary.hpp"
#include "timing/loop.hpp"
#include "timing/mark.hpp"
#include "timing/median.hpp"

namespace fabricbench::micro {
namespace {

constexpr std::int64_t pilot_iterations = 4;

/// An operation that sends no message.
struct NoMessage {
  void before(std::int64_t /*iteration*/) {}
  void run() {}
  void after(std::int64_t /*iteration*/) {}
};

}  // namespace

Runner::Runner(const Job& job, Processes& processes, std::vector<std::unique_ptr<Part>> parts,
               Report& report)
    : job_(job),
      benchmark_(*job.benchmark),
      options_(job.options),
      processes_(processes),
      report_(report),
      parts_(std::move(parts)),
      samples_ns_(timing::max_samples),
      received_ns_(timing::max_samples) {}

bool Runner::run() {
  report_.key("reporting_ranks", reporting());
  for (const auto& [key, value] : parts_.front()->facts()) report_.key(key, value);
  report_.columns();
  if (processes_.connected()) calibrate();
  bool verified = true;
  for (const Points& points : all_points(benchmark_.order, options_))
    verified = verified && measure(points);
  for (int added = 0; verified && benchmark_.adaptive && added < most_added_sizes; ++added) {
    const std::optional<std::int64_t> size = added_size();
    if (!size) break;
    verified = measure(points_of_size(*size, options_));
  }
  if (mismatch_) {
    const std::string text =
        std::string(benchmark_.name) + ": " + mismatch_text(*mismatch_, processes_.rank());
    complain_as(job_.program, text.c_str());
  }
  report_.key("verified", verified ? "yes" : "no");
  report_.key("payload_bytes", payload_.bytes);
  report_.key("payload_messages", payload_.messages);
  return verified;
}

/// Returns whether all answers were right on all processes.
bool Runner::measure(const Points& points) {
  for (const Point& point : points) measure_point(point);
  return processes_.all(!mismatch_);
}

void Runner::measure_point(const Point& point) {
  if (const auto refusal = refusals_.find(point.choice);
      refusal != refusals_.end() && point.amount >= refusal->second.amount) {
    const auto& [amount, reason] = refusal->second;
    report_skipped(
        point, point.amount == amount ? reason : "the stack has refused " + std::to_string(amount));
    return;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = *parts_[i];
    const Quantity& quantity = benchmark_.quantities[i];
    for (Point turn = point; turn.turn < part.turns(point); ++turn.turn) {
      if (!enter(part, turn)) return;
      measure_turn(part, quantity, turn);
    }
    report_.flush();
    if (job_.fault.kind == Fault::Kind::hang) hang();
  }
}

/// Prepares the part on all processes. If that fails on any, reports the point as skipped on all.
bool Runner::enter(Part& part, const Point& point) {
  const int error = processes_.common_error(part.enter(point));
  if (error == 0) return true;
  const std::string reason = processes_.error_text(error);
  refusals_[point.choice] = {.amount = point.amount, .reason = reason};
  report_skipped(point, reason);
  part.leave();
  return false;
}

void Runner::measure_turn(Part& part, const Quantity& quantity, const Point& point) {
  if (!calibrated_) calibrate();
  report_part(part, quantity, point, measure_marked(part, quantity, point));
  part.leave();
  if (!mismatch_) mismatch_ = part.verify_around();
}

/// Marks intervals without messages, whose traffic is that of the runner's own synchronisation. An
/// unmarked interval before them opens the connections.
void Runner::calibrate() {
  calibrated_ = true;
  NoMessage nothing;
  for (int i = -1; i < timing::calibrations; ++i) {
    const std::string name = timing::calibration_label(i);
    processes_.synchronise();
    if (i >= 0) timing::mark_begin(name);
    measure_with(nothing, {}, {});
    processes_.synchronise();
    if (i >= 0) timing::mark_end(name);
  }
  const auto has_barriers = [](const auto& part) { return part->barriers() > 0; };
  if (std::any_of(parts_.begin(), parts_.end(), has_barriers)) calibrate_barriers();
}

/// Marks intervals of barriers, whose traffic divided by their number is the traffic of one
/// barrier.
void Runner::calibrate_barriers() {
  report_.key("barriers_per_calibration", timing::barriers_per_calibration);
  if (!timing::has_witness()) return;
  for (int i = 0; i < timing::barrier_calibrations; ++i) {
    const std::string name = timing::barriers_label(i);
    processes_.synchronise();
    timing::mark_begin(name);
    for (int barrier = 0; barrier < timing::barriers_per_calibration; ++barrier)
      processes_.synchronise();
    timing::mark_end(name);
  }
}

/// Marks the interval of a measurement and reports the least traffic of its iterations.
Runner::Count Runner::measure_marked(Part& part, const Quantity& quantity, const Point& point) {
  const std::string name =
      interval_label(benchmark_, quantity.metric, part, point, processes_.ranks());
  processes_.synchronise();
  timing::mark_begin(name);
  const Count count = measure_part(part, quantity, point);
  processes_.synchronise();
  timing::mark_end(name);
  const Traffic moved = count.all() * part.moved_beside_barriers();
  report_.key("interval_bytes." + name, moved.bytes);
  report_.key("interval_messages." + name, moved.messages);
  if (part.barriers() > 0) report_.key("interval_barriers." + name, count.all() * part.barriers());
  return count;
}

Runner::Count Runner::measure_part(Part& part, const Quantity& quantity, const Point& point) {
  const bool flip = job_.fault.kind == Fault::Kind::flip;
  CheckedOperation checked{part, mismatch_, flip};
  if (options_.check) return measure_with(checked, quantity, point);
  Count count;
  if (job_.fault.kind == Fault::Kind::slow) {
    const std::vector<CaseReport> all = case_reports(part, point);
    const bool reports = std::any_of(all.begin(), all.end(), [&](const CaseReport& one) {
      return one.reported_by(processes_.rank());
    });
    const double spin_ns = reports ? 1e3 * job_.fault.slow_us * part.values_per_run() : 0.0;
    SlowedOperation slowed{part, static_cast<std::int64_t>(spin_ns)};
    count = measure_with(slowed, quantity, point);
  } else {
    TimedOperation timed{part};
    count = measure_with(timed, quantity, point);
  }
  timing::repeat(checked, count.all(), 1);
  count.verification = 1;
  return count;
}

template <class Op>
Runner::Count Runner::measure_with(Op& operation, const Quantity& quantity, const Point& point) {
  const auto scaled = [&](std::int64_t requested, std::int64_t least) {
    return timing::scaled_count(requested, point.msg_size, least, quantity.fewer_iterations);
  };
  std::int64_t iterations = scaled(options_.iterations, timing::least_iterations);
  std::int64_t warmup = scaled(options_.warmup, timing::least_warmup);
  Count count;
  if (options_.time_limit_s > 0.0) {
    count.pilot = pilot_iterations;
    const double iteration_s = pilot_s(operation);
    iterations = timing::limited_count(iterations, options_.time_limit_s, iteration_s);
    warmup = std::min(warmup, iterations);
  }
  count.plan = timing::make_plan(iterations, warmup);
  timing::measure([&] { processes_.synchronise(); }, operation, count.plan, count.pilot,
                  std::span(samples_ns_).first(static_cast<std::size_t>(count.plan.samples)));
  return count;
}

/// Returns the seconds of one iteration: the maximum over the ranks of the fastest pilot iteration.
/// The fastest one neither sets up a connection nor is interrupted.
template <class Op>
double Runner::pilot_s(Op& operation) {
  std::int64_t fastest_ns = std::numeric_limits<std::int64_t>::max();
  processes_.synchronise();
  for (std::int64_t i = 0; i < pilot_iterations; ++i) {
    const std::int64_t start = timing::now_ns();
    timing::repeat(operation, i, 1);
    fastest_ns = std::min(fastest_ns, timing::now_ns() - start);
  }
  return 1e-9 * static_cast<double>(processes_.largest(fastest_ns));
}

/// Returns the next size to add, the same on all ranks.
std::optional<std::int64_t> Runner::added_size() {
  const std::int64_t size = processes_.largest(size_to_add(first_quantity_ns_).value_or(0));
  return size > 0 ? std::optional(size) : std::nullopt;
}

bool Runner::CaseReport::reported_by(int rank) const {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// Returns the cases of this turn: one for each reporter of the part, or one for all reporters of
/// the benchmark.
std::vector<Runner::CaseReport> Runner::case_reports(const Part& part, const Point& point) const {
  std::vector<CaseReport> all;
  for (const auto& [rank, words] : part.reporters()) {
    all.push_back(
        {.case_name = benchmark_.case_name(point, processes_.ranks(), words), .ranks = {rank}});
  }
  if (!all.empty()) return all;
  std::vector<int> ranks(static_cast<std::size_t>(reporting()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return {{.case_name = benchmark_.case_name(point, processes_.ranks()), .ranks = ranks}};
}

void Runner::report_part(const Part& part, const Quantity& quantity, const Point& point,
                         const Count& count) {
  payload_ += count.all() * part.moved() + part.moved_around();
  for (const CaseReport& one : case_reports(part, point)) {
    const std::string label = fact_label(benchmark_, quantity.metric, point, one.case_name);
    report_facts(part, std::string(1, '.').append(label), count);
    report_samples(
        one,
        {.benchmark = benchmark_.name,
         .case_name = one.case_name,
         .metric = quantity.metric,
         .msg_size_bytes = benchmark_.dimensions.sized ? std::optional<std::int64_t>(point.msg_size)
                                                       : std::nullopt,
         .values_per_run = part.values_per_run()},
        count, &quantity == &benchmark_.quantities.front());
  }
}

/// Every rank's part has the same facts except for the computation, which is the printing rank's.
void Runner::report_facts(const Part& part, const std::string& suffix, const Count& count) {
  report_.key("iterations" + suffix, count.plan.iterations());
  report_.key("warmup" + suffix, count.pilot + count.plan.warmup);
  report_.key("verification" + suffix, count.verification);
  report_.key("sample_stride" + suffix, count.plan.stride);
  if (const Traffic carried = part.carried(); carried.messages > 0) {
    report_.key("bytes_per_run" + suffix, carried.bytes);
    report_.key("messages_per_run" + suffix, carried.messages);
  }
  if (part.work_ns() > 0)
    report_.key("work_us" + suffix, fixed(1e-3 * static_cast<double>(part.work_ns()), 3));
}

void Runner::report_samples(const CaseReport& report, const Report::Series& series,
                            const Count& count, bool of_first_quantity) {
  const auto samples = static_cast<std::size_t>(count.plan.samples);
  const bool many = report.ranks.size() > most_listed_ranks;
  Summariser all;
  for (const int rank : report.ranks) {
    const std::span<std::int64_t> values = processes_.fetch(
        rank, std::span(samples_ns_).first(samples), std::span(received_ns_).first(samples));
    if (!processes_.prints()) continue;
    if (many)
      all.add(values);
    else
      report_.rows(series, rank, values);
    if (rank == processes_.rank() && of_first_quantity) {
      first_quantity_ns_[series.msg_size_bytes.value_or(0)] =
          static_cast<double>(timing::median(values));
    }
  }
  if (many && processes_.prints()) report_.summary(series, all.result());
}

void Runner::report_skipped(const Point& point, std::string_view reason) {
  const std::string case_name = benchmark_.case_name(point, processes_.ranks());
  report_.key("skipped." + fact_label(benchmark_, "", point, case_name), reason);
}

}  // namespace fabricbench::micro
