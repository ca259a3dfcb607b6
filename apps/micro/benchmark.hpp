// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "micro/dimension.hpp"
#include "micro/pattern.hpp"
#include "timing/loop.hpp"

namespace fabricbench::micro {

/// The least number of messages and bytes that the ranks exchange, all ranks together. Messages
/// of one direction without an answer between them may share a packet, so they count as one
/// message.
struct Traffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;

  Traffic& operator+=(const Traffic& other) {
    messages += other.messages;
    bytes += other.bytes;
    return *this;
  }
  friend Traffic operator+(Traffic a, const Traffic& b) { return a += b; }
  friend Traffic operator*(std::int64_t n, const Traffic& t) {
    return {.messages = n * t.messages, .bytes = n * t.bytes};
  }
};

struct Setting;  // setting.hpp

/// Key and value, in order of key: parts of a case, facts.
using Words = std::map<std::string, std::string>;

/// What is measured at a time: one message size of one case.
struct Point {
  int msg_size = 0;        ///< bytes
  std::size_t choice = 0;  ///< index into the words of the benchmark's choice
  std::int64_t amount = 0;
  std::int64_t turn = 0;  ///< from 0 to Part::turns() - 1
};

/// A rank that reports values in a case of its own.
struct Reporter {
  int rank;
  Words words;  ///< additional parts of its case
};

/// Returned by Part::enter(), beside MPI's error codes: the stack accepts no further unexpected
/// messages.
inline constexpr int error_stuck = std::numeric_limits<int>::max();

/// One rank's code that measures one quantity. On every rank the runner calls enter(), then
/// before(), run() and after() for every iteration, then leave().
class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// Returns the header lines that only this benchmark has.
  [[nodiscard]] virtual Words facts() const { return {}; }
  /// Returns the number of turns in which a point is measured. Each turn measures other ranks.
  [[nodiscard]] virtual std::int64_t turns(const Point& /*point*/) const { return 1; }
  /// Returns the ranks that report in this turn, each in its own case. Empty: the benchmark's
  /// reporters share one case.
  [[nodiscard]] virtual std::vector<Reporter> reporters() const { return {}; }

  /// Prepares the measurement of `point`. Returns an MPI error code if the stack cannot do it;
  /// the point is then skipped. Collective, as leave() is; neither is timed.
  virtual int enter(const Point& point) = 0;
  virtual void leave() {}

  /// The timed region: MPI_ calls and nothing else.
  virtual void run() = 0;
  /// The untimed steps before and after each iteration.
  virtual void before() {}
  virtual void after() {}

  /// Writes the payload that this rank sends in the next iteration.
  virtual void fill(std::int64_t iteration) = 0;
  /// Collective: makes the payload of fill() visible to other ranks, and theirs to this one.
  virtual void settle() {}
  /// The first wrong byte that this rank received in the iteration, if any.
  [[nodiscard]] virtual std::optional<Mismatch> verify(std::int64_t iteration) = 0;
  /// The first wrong byte of the messages of enter() and leave(); called after leave().
  [[nodiscard]] virtual std::optional<Mismatch> verify_around() { return {}; }
  /// The payload that the injected fault corrupts; empty on a rank that sends none.
  [[nodiscard]] virtual std::span<std::uint8_t> outgoing() = 0;

  /// The traffic of one iteration, and of enter() and leave() together.
  [[nodiscard]] virtual Traffic moved() const = 0;
  [[nodiscard]] virtual Traffic moved_around() const { return {}; }
  /// Barriers of all ranks around each run(), and the traffic of one iteration without them.
  [[nodiscard]] virtual std::int64_t barriers() const { return 0; }
  [[nodiscard]] virtual Traffic moved_beside_barriers() const { return moved(); }
  /// A reported value is the duration of run() divided by this.
  [[nodiscard]] virtual double values_per_run() const { return 1.0; }
  /// The traffic that the bandwidth of one run() is computed from, all ranks of a case
  /// together; zero without a bandwidth.
  [[nodiscard]] virtual Traffic carried() const { return {}; }
  /// Computation within run(), in nanoseconds; zero without any.
  [[nodiscard]] virtual std::int64_t work_ns() const { return 0; }
};

/// Creates a part from the setting; for Quantity::set_up.
template <class P>
std::unique_ptr<Part> make_part(const Setting& setting) {
  return std::make_unique<P>(setting);
}

/// A duration that a benchmark measures at each point.
struct Quantity {
  std::string_view metric;  ///< name of the sample, with its unit
  /// Throws UsageError if the memory is too small, and std::bad_alloc.
  std::unique_ptr<Part> (*set_up)(const Setting& setting) = nullptr;
  /// The number of iterations is divided by this, because one iteration has many messages.
  std::int64_t fewer_iterations = 1;
};

/// A value in the table of a campaign. analysis/fabricbench/metrics.py has its unit, and
/// analysis/fabricbench/parsers/tools/micro/estimates.py computes it from the samples.
struct Metric {
  std::string_view name;
  bool bandwidth = false;  ///< bytes per time; undefined for messages of 0 bytes
};

/// One plot in the report: a metric over the message size, for each case that contains `only`.
struct Picture {
  std::string_view metric;
  std::string_view only = "";  ///< part of a case, such as "window=64"; empty: all cases
  std::string_view over = "";  ///< key of the case on the horizontal axis instead of the size
  std::span<const std::int64_t> sizes = {};  ///< with `over`: one plot for each size, in bytes
};

/// A section of the report. Benchmarks with the same section share its plots.
struct Section {
  std::string_view key = "";    ///< part of the section's anchor
  std::string_view title = "";  ///< empty: the key
  std::string_view note = "";   ///< text above the plots
  std::int64_t place = 100;     ///< order on the page; equal places: order of benchmark
};

/// Where the report plots a benchmark. Without pictures another part of the report shows it.
struct Figure {
  Section section = {};
  std::span<const Picture> pictures = {};
};

/// Messages of the largest size that the buffers of one rank hold: `messages` + `per_rank` * ranks.
/// Both 0: a negligible number.
struct Held {
  std::int64_t messages = 0;
  std::int64_t per_rank = 0;
};

/// The order of the points. by_size: all amounts of a size, then the next size;
/// processes agree after each point that all answers were right. by_amount: all sizes of an amount,
/// then the next amount; they agree after each amount.
enum class Order { by_size, by_amount };

enum class Ranks { pairs, two_or_more, any };  ///< the numbers of ranks that a benchmark runs on
/// The ranks that report values: the first half, all but the last, all, or (named) those of
/// Part::reporters(), each in its own case.
enum class Reporters { half, all_but_last, all, named };

/// The synchronisation of most benchmarks, for the header of the output.
inline constexpr std::string_view barrier_before_size =
    "MPI_Barrier before each size; warm-up and timed iterations follow it without another";

/// The record of a benchmark, the only place that names it. The checks, the parser, the report and
/// the tests read it as JSON (--describe). A benchmark without quantities sends no message: it
/// calls MPI_Init, prints the header and calls MPI_Finalize.
struct Benchmark {
  std::string_view name;
  std::string_view summary;  ///< one line, for --list
  Ranks ranks = Ranks::pairs;
  Reporters reporters = Reporters::half;
  Dimensions dimensions = {};
  std::span<const Quantity> quantities = {};
  /// Adds sizes where the curve of the first quantity bends.
  bool adaptive = false;
  Order order = Order::by_size;
  std::string_view synchronisation = barrier_before_size;
  std::span<const Metric> metrics = {};
  std::string_view base = "";  ///< part of the case that `latency_ratio` divides by: "queued=0"
  /// The quantity that public tools measure too, of analysis/fabricbench/parsers/quantities.py:
  /// "half_round_trip". The metric that ends in _mean is compared with theirs.
  std::string_view role = "";
  Figure figure = {};
  Held held = {};

  [[nodiscard]] bool sends_messages() const { return !quantities.empty(); }
  /// The number of ranks that report values of one case.
  [[nodiscard]] int reporting(int all_ranks) const;
  /// Throws UsageError if the benchmark does not run on this number of ranks.
  void check_ranks(int all_ranks) const;
  /// The `case` column: "k=v k=v" with keys in order, empty for a benchmark without parts;
  /// `more` are further keys.
  [[nodiscard]] std::string case_name(const Point& point, int all_ranks,
                                      const Words& more = {}) const;
};

/// Adds benchmarks to those of the program: an object at namespace scope in the file that defines
/// them.
class Registration {
 public:
  Registration(std::initializer_list<const Benchmark*> benchmarks);
};

/// All benchmarks of this program, in order of name.
[[nodiscard]] std::span<const Benchmark* const> benchmarks();

/// The benchmark of that name. Throws UsageError if there is none.
[[nodiscard]] const Benchmark& find_benchmark(std::string_view name);

}  // namespace fabricbench::micro
