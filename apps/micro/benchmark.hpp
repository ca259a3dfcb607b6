// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

/// What crosses from rank to rank at least, all ranks together. Messages that follow each other in
/// one direction without an answer between them may share a packet, so of those only one counts.
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

/// What is measured next: one size of one case.
struct Point {
  int msg_size = 0;        ///< bytes
  std::size_t choice = 0;  ///< index into the words of the benchmark's choice
  std::int64_t amount = 0;
  std::int64_t turn = 0;  ///< of Part::turns()
};

/// A rank that reports values in a case of its own.
struct Reporter {
  int rank;
  Words words;  ///< what tells its case from others of the same point
};

/// What Part::enter() returns beside MPI's error codes: messages stand behind others that the stack
/// does not take while nobody asks for them.
inline constexpr int error_stuck = std::numeric_limits<int>::max();

/// One rank's part in measuring one quantity. The runner calls enter(), then for every iteration
/// before(), run(), after(), and at last leave(), on all ranks alike.
class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// What the header says of the launch, beside what it says of all.
  [[nodiscard]] virtual Words facts() const { return {}; }
  /// A point is measured so many times, each time between other ranks.
  [[nodiscard]] virtual std::int64_t turns(const Point& /*point*/) const { return 1; }
  /// Who reports in this turn; none: the benchmark's reporters, in one case together.
  [[nodiscard]] virtual std::vector<Reporter> reporters() const { return {}; }

  /// Makes ready for `point`. Returns an MPI error code if the stack cannot do it, which is a gap
  /// at this point and no error. Collective, as leave() is; neither is timed.
  virtual int enter(const Point& point) = 0;
  virtual void leave() {}

  /// The timed region: nothing but MPI_ calls.
  virtual void run() = 0;
  /// What one iteration needs around it and nobody times.
  virtual void before() {}
  virtual void after() {}

  /// Writes the payload that this rank sends in the iteration that follows.
  virtual void fill(std::int64_t iteration) = 0;
  /// Collective: what fill() wrote may be read by others; what they sent has arrived.
  virtual void settle() {}
  /// First wrong byte of what this rank received in the iteration, if any.
  [[nodiscard]] virtual std::optional<Mismatch> verify(std::int64_t iteration) = 0;
  /// The same of what enter() and leave() moved, after leave().
  [[nodiscard]] virtual std::optional<Mismatch> verify_around() { return {}; }
  /// The payload that the injected fault corrupts; empty on a rank that sends none.
  [[nodiscard]] virtual std::span<std::uint8_t> outgoing() = 0;

  /// What one iteration moves, and what enter() and leave() move.
  [[nodiscard]] virtual Traffic moved() const = 0;
  [[nodiscard]] virtual Traffic moved_around() const { return {}; }
  /// Barriers of all ranks around each run(), and what one iteration moves beside them.
  [[nodiscard]] virtual std::int64_t barriers() const { return 0; }
  [[nodiscard]] virtual Traffic moved_beside_barriers() const { return moved(); }
  /// A reported value is the duration of run() divided by this.
  [[nodiscard]] virtual double values_per_run() const { return 1.0; }
  /// What the reported bandwidth of one run() stands for, all ranks of a case together; zero
  /// without one.
  [[nodiscard]] virtual Traffic carried() const { return {}; }
  /// Computation within run(), in nanoseconds; zero without any.
  [[nodiscard]] virtual std::int64_t work_ns() const { return 0; }
};

/// What Quantity::set_up is for a part without arguments of its own.
template <class P>
std::unique_ptr<Part> make_part(const Setting& setting) {
  return std::make_unique<P>(setting);
}

/// One of the durations that a benchmark measures at every point.
struct Quantity {
  std::string_view metric;  ///< name of the sample, with its unit
  /// Throws UsageError if memory does not suffice, std::bad_alloc.
  std::unique_ptr<Part> (*set_up)(const Setting& setting) = nullptr;
  /// One iteration stands for so many messages that fewer are made.
  std::int64_t fewer_iterations = 1;
};

/// In which order points are measured. by_size: all amounts of a size, then the next size;
/// processes agree after each point that all answers were right. by_amount: all sizes of an amount,
/// then the next amount; they agree after each amount.
enum class Order { by_size, by_amount };

enum class Ranks { pairs, two_or_more, any };  ///< how many ranks a benchmark runs on
/// Ranks 0 … n-1 report values; named: one in each case, which the part names.
enum class Reporters { half, all_but_last, all, named };

/// How most benchmarks synchronise, as named in the header of the output.
inline constexpr std::string_view barrier_before_size =
    "MPI_Barrier before each size; warm-up and timed iterations follow it without another";

/// A benchmark as a record. One without quantities sends nothing: MPI_Init, header, MPI_Finalize.
struct Benchmark {
  std::string_view name;
  std::string_view summary;  ///< one line, for --list
  Ranks ranks = Ranks::pairs;
  Reporters reporters = Reporters::half;
  Dimensions dimensions = {};
  std::span<const Quantity> quantities = {};
  /// Sizes are added where the first quantity bends; else the sizes asked for are all.
  bool adaptive = false;
  Order order = Order::by_size;
  std::string_view synchronisation = barrier_before_size;

  [[nodiscard]] bool sends_messages() const { return !quantities.empty(); }
  /// Ranks that report values of one case.
  [[nodiscard]] int reporting(int all_ranks) const;
  /// Throws UsageError if the benchmark cannot run on so many ranks.
  void check_ranks(int all_ranks) const;
  /// `case` column: "k=v k=v" with keys in order, empty for the plain case; `more` are further
  /// keys.
  [[nodiscard]] std::string case_name(const Point& point, int all_ranks,
                                      const Words& more = {}) const;
};

/// All benchmarks of this program, in order of name.
[[nodiscard]] std::span<const Benchmark* const> benchmarks();

/// The benchmark of that name. Throws UsageError if there is none.
[[nodiscard]] const Benchmark& find_benchmark(std::string_view name);

}  // namespace fabricbench::micro
