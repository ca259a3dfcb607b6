// SPDX-License-Identifier: Apache-2.0
#include "micro/runner.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <numeric>
#include <utility>

#include "common/usage_error.hpp"
#include "micro/msg_sizes.hpp"
#include "micro/operations.hpp"
#include "micro/refine.hpp"
#include "timing/loop.hpp"
#include "timing/mark.hpp"
#include "timing/median.hpp"

namespace fabricbench::micro {
namespace {

constexpr int samples_tag = 2;
constexpr std::int64_t pilot_iterations = 4;

std::string hex(std::uint8_t byte) {
  constexpr const char* digits = "0123456789abcdef";
  return {'0', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

/// One line on stderr of the rank that received the wrong byte.
void complain(const Benchmark& benchmark, int rank, const Mismatch& wrong) {
  const std::string line =
      "fabricbench-micro: " + std::string(benchmark.name) + ": wrong answer on rank " +
      std::to_string(rank) + ": message of " + std::to_string(wrong.message.msg_size_bytes) +
      " B from rank " + std::to_string(wrong.message.sender) + ", iteration " +
      std::to_string(wrong.message.iteration) + ", offset " + std::to_string(wrong.offset) +
      ": expected " + hex(wrong.expected) + ", found " + hex(wrong.found) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// The seconds of one iteration: the fastest of the pilot on each rank, and of these the
/// slowest. The first iteration may set up a connection and any one may be interrupted.
template <class Op>
double pilot_s(const World& world, Op& operation) {
  std::int64_t fastest_ns = std::numeric_limits<std::int64_t>::max();
  MPI_Barrier(world.comm);
  for (std::int64_t i = 0; i < pilot_iterations; ++i) {
    const std::int64_t start = timing::now_ns();
    timing::repeat(operation, i, 1);
    fastest_ns = std::min(fastest_ns, timing::now_ns() - start);
  }
  MPI_Allreduce(MPI_IN_PLACE, &fastest_ns, 1, MPI_INT64_T, MPI_MAX, world.comm);
  return 1e-9 * static_cast<double>(fastest_ns);
}

/// An iteration that sends nothing.
struct NoMessage {
  void before(std::int64_t /*iteration*/) {}
  void run() {}
  void after(std::int64_t /*iteration*/) {}
};

/// The stack's text for an error, in one line.
std::string error_text(int error) {
  if (error == error_stuck) return "the stack keeps no more messages that nobody has asked for";
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  std::string line(text.data(), static_cast<std::size_t>(length));
  std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

/// Two buffers of every part of all ranks of a node must fit into its memory. Throws UsageError.
void check_memory(const Benchmark& benchmark, std::int64_t largest_size, int ranks) {
  const auto buffers = 2 * static_cast<std::int64_t>(benchmark.quantities.size()) * ranks;
  if (largest_size > 3 * quarter_of_memory() / buffers) {
    throw UsageError("--sizes: " + std::to_string(buffers) + " buffers of " +
                     std::to_string(largest_size) + " bytes, for " + std::to_string(ranks) +
                     " ranks on a node, exceed three quarters of its memory; give smaller sizes");
  }
}

}  // namespace

Runner::Runner(const Benchmark& benchmark, const Options& options, const Fault& fault,
               const World& world, Report& report)
    : benchmark_(benchmark),
      options_(options),
      fault_(fault),
      world_(world),
      report_(report),
      samples_ns_(timing::max_samples),
      received_ns_(timing::max_samples) {
  const std::int64_t largest =
      *std::max_element(options.sizes_bytes.begin(), options.sizes_bytes.end());
  check_memory(benchmark, largest, most_ranks_of_a_node(world));
  const Setting setting{
      .world = world,
      .largest_size = largest,
      .largest_amount = *std::max_element(options.amounts.begin(), options.amounts.end()),
      .rounds = options.rounds,
      .block = options.block,
      .checked = options.check,
      .fault = fault};
  for (const Quantity& quantity : benchmark.quantities) parts_.push_back(quantity.set_up(setting));
}

bool Runner::run() {
  report_.key("reporting_ranks", reporting());
  for (const auto& [key, value] : parts_.front()->facts()) report_.key(key, value);
  report_.columns();
  calibrate();
  bool verified = true;
  for (std::size_t i = 0; verified && i < options_.sizes_bytes.size(); ++i) {
    verified = measure_size(options_.sizes_bytes[i]);
  }
  for (int added = 0; verified && benchmark_.adaptive && added < most_added_sizes; ++added) {
    const std::optional<std::int64_t> size = added_size();
    if (!size) break;
    verified = measure_size(*size);
  }
  if (mismatch_) complain(benchmark_, world_.rank, *mismatch_);
  report_.key("verified", verified ? "yes" : "no");
  report_.key("payload_bytes", payload_.bytes);
  report_.key("payload_messages", payload_.messages);
  return verified;
}

/// All cases at one size; returns whether all answers were right.
bool Runner::measure_size(std::int64_t size) {
  for (const std::size_t choice : options_.choices) {
    for (const std::int64_t amount : options_.amounts) {
      measure_point({.msg_size = static_cast<int>(size), .choice = choice, .amount = amount});
      if (!all_verified()) return false;
    }
  }
  return true;
}

void Runner::measure_point(const Point& point) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = *parts_[i];
    const Quantity& quantity = benchmark_.quantities[i];
    Point turn = point;
    for (; turn.turn < part.turns(point); ++turn.turn) measure_turn(part, quantity, turn);
    report_.flush();
    if (fault_.kind == Fault::Kind::hang && world_.rank == 0) hang();
  }
}

void Runner::measure_turn(Part& part, const Quantity& quantity, const Point& point) {
  if (!enter(part, quantity, point)) return;
  report_part(part, quantity, point, measure_marked(part, quantity, point));
  part.leave();
  if (!mismatch_) mismatch_ = part.verify_around();
}

/// Marks intervals without a message, whose traffic is that of the runner's own
/// synchronisation, and intervals of barriers for parts that have barriers around each run. One
/// more interval before them opens the connections.
void Runner::calibrate() {
  NoMessage nothing;
  for (int i = -1; i < timing::calibrations; ++i) {
    const std::string name = timing::calibration_label(i);
    MPI_Barrier(world_.comm);
    if (i >= 0) timing::mark_begin(name);
    measure_with(nothing, {}, {});
    MPI_Barrier(world_.comm);
    if (i >= 0) timing::mark_end(name);
  }
  if (std::none_of(parts_.begin(), parts_.end(), [](auto& part) { return part->barriers() > 0; }))
    return;
  report_.key("barriers_per_calibration", timing::barriers_per_calibration);
  for (int i = 0; i < timing::barrier_calibrations; ++i) {
    const std::string name = timing::barriers_label(i);
    MPI_Barrier(world_.comm);
    timing::mark_begin(name);
    for (int barrier = 0; barrier < timing::barriers_per_calibration; ++barrier)
      MPI_Barrier(world_.comm);
    timing::mark_end(name);
  }
}

/// Marks the interval for the witness and reports the least traffic of its iterations.
Runner::Count Runner::measure_marked(Part& part, const Quantity& quantity, const Point& point) {
  const std::string name = interval_label(part, quantity, point);
  MPI_Barrier(world_.comm);
  timing::mark_begin(name);
  const Count count = measure_part(part, quantity, point);
  MPI_Barrier(world_.comm);
  timing::mark_end(name);
  const Traffic moved = count.all() * part.moved_beside_barriers();
  report_.key("interval_bytes." + name, moved.bytes);
  report_.key("interval_messages." + name, moved.messages);
  if (part.barriers() > 0) report_.key("interval_barriers." + name, count.all() * part.barriers());
  return count;
}

/// Returns whether all ranks are ready to measure the point; if not, the point is skipped. An
/// amount that the stack refused, and every larger one, is not tried again.
bool Runner::enter(Part& part, const Quantity& quantity, const Point& point) {
  const std::string skipped =
      std::string("skipped.")
          .append(label(quantity, point, benchmark_.case_name(point, world_.ranks)));
  const auto before = refused_.find(point.choice);
  if (before != refused_.end() && point.amount >= before->second) {
    report_.key(skipped, "the stack has refused " + std::to_string(before->second));
    return false;
  }
  int error = part.enter(point);
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_INT, MPI_MAX, world_.comm);
  if (error == MPI_SUCCESS) return true;
  refused_[point.choice] = point.amount;
  report_.key(skipped, error_text(error));
  part.leave();
  return false;
}

Runner::Count Runner::measure_part(Part& part, const Quantity& quantity, const Point& point) {
  const bool flip = fault_.kind == Fault::Kind::flip;
  CheckedOperation checked{part, mismatch_, flip};
  if (options_.check) return measure_with(checked, quantity, point);
  Count count;
  if (fault_.kind == Fault::Kind::slow) {
    const std::vector<Told> all = told(part, point);
    const bool reports =
        std::any_of(all.begin(), all.end(), [&](const Told& one) { return one.by(world_.rank); });
    const double spin_ns = reports ? 1e3 * fault_.slow_us * part.values_per_run() : 0.0;
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
  const auto scaled = [&](std::int64_t asked, std::int64_t least) {
    return timing::scaled_count(asked, point.msg_size, least, quantity.fewer_iterations);
  };
  std::int64_t iterations = scaled(options_.iterations, timing::least_iterations);
  std::int64_t warmup = scaled(options_.warmup, timing::least_warmup);
  Count count;
  if (options_.time_limit_s > 0.0) {
    count.pilot = pilot_iterations;
    const double iteration_s = pilot_s(world_, operation);
    iterations = timing::limited_count(iterations, options_.time_limit_s, iteration_s);
    warmup = std::min(warmup, iterations);
  }
  count.plan = timing::make_plan(iterations, warmup);
  timing::measure([&] { MPI_Barrier(world_.comm); }, operation, count.plan, count.pilot,
                  std::span(samples_ns_).first(static_cast<std::size_t>(count.plan.samples)));
  return count;
}

bool Runner::all_verified() const {
  int wrong = mismatch_ ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, world_.comm);
  return wrong == 0;
}

/// The next size where the first quantity bends, the same on all ranks.
std::optional<std::int64_t> Runner::added_size() const {
  std::int64_t size = size_to_add(first_quantity_ns_).value_or(0);
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, world_.comm);
  return size > 0 ? std::optional(size) : std::nullopt;
}

bool Runner::Told::by(int rank) const {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// The cases of this turn's values and the ranks that report them: one case for each reporter,
/// or one for all.
std::vector<Runner::Told> Runner::told(const Part& part, const Point& point) const {
  std::vector<Told> all;
  for (const auto& [rank, words] : part.reporters()) {
    all.push_back({.case_name = benchmark_.case_name(point, world_.ranks, words), .ranks = {rank}});
  }
  if (!all.empty()) return all;
  std::vector<int> ranks(static_cast<std::size_t>(reporting()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return {{.case_name = benchmark_.case_name(point, world_.ranks), .ranks = std::move(ranks)}};
}

/// The end of a header key that belongs to one point: metric, case and size, as far as there
/// are several.
std::string Runner::label(const Quantity& quantity, const Point& point,
                          const std::string& case_name) const {
  std::string text;
  const auto add = [&](std::string_view part) {
    if (!text.empty() && !part.empty()) text.append(".");
    text.append(part);
  };
  if (benchmark_.quantities.size() > 1) add(quantity.metric);
  // An equals sign would end the key.
  std::string in_key = case_name;
  std::replace(in_key.begin(), in_key.end(), '=', ':');
  std::replace(in_key.begin(), in_key.end(), ' ', ',');
  add(in_key);
  if (benchmark_.dimensions.sized) add(std::to_string(point.msg_size));
  return text.empty() ? "all" : text;
}

/// The label of a point's interval: that of its header keys without the parts of single
/// reporters, and with the turn if there are several.
std::string Runner::interval_label(const Part& part, const Quantity& quantity,
                                   const Point& point) const {
  Words more;
  if (part.turns(point) > 1) more["turn"] = std::to_string(point.turn);
  return label(quantity, point, benchmark_.case_name(point, world_.ranks, more));
}

void Runner::report_part(const Part& part, const Quantity& quantity, const Point& point,
                         const Count& count) {
  payload_ += count.all() * part.moved() + part.moved_around();
  for (const Told& one : told(part, point)) {
    report_facts(part, std::string(1, '.').append(label(quantity, point, one.case_name)), count);
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

/// All ranks have the same values but for the computation, which is that of rank 0.
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

/// Rank 0 prints the samples of every reporting rank.
void Runner::report_samples(const Told& told, const Report::Series& series, const Count& count,
                            bool of_first_quantity) {
  const auto samples = static_cast<std::size_t>(count.plan.samples);
  if (world_.rank > 0) {
    if (told.by(world_.rank)) {
      MPI_Send(samples_ns_.data(), static_cast<int>(samples), MPI_INT64_T, 0, samples_tag,
               world_.comm);
    }
    return;
  }
  for (const int rank : told.ranks) {
    std::vector<std::int64_t>& own = rank == 0 ? samples_ns_ : received_ns_;
    if (rank > 0) {
      MPI_Recv(own.data(), static_cast<int>(samples), MPI_INT64_T, rank, samples_tag, world_.comm,
               MPI_STATUS_IGNORE);
    }
    const std::span<std::int64_t> values = std::span(own).first(samples);
    report_.rows(series, rank, values);
    if (rank == 0 && of_first_quantity)
      first_quantity_ns_[series.msg_size_bytes.value_or(0)] =
          static_cast<double>(timing::median(values));
  }
}

}  // namespace fabricbench::micro
