// SPDX-License-Identifier: Apache-2.0
//
// multiconn over libfabric (paper 000, section 5.1): many connections between two processes, each
// a pair of endpoints of its own, on the provider that FI_PROVIDER names. What is measured is what
// fabricbench-micro multiconn measures over communicators, and the output has the same form. The
// client reports.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/usage_error.hpp"
#include "endpoints/connections.hpp"
#include "endpoints/peer.hpp"
#include "micro/fault.hpp"
#include "micro/msg_sizes.hpp"
#include "micro/options.hpp"
#include "micro/report.hpp"
#include "timing/loop.hpp"
#include "timing/mark.hpp"

namespace {

using namespace fabricbench;
using namespace fabricbench::endpoints;

constexpr std::string_view program = "fabricbench-endpoints";
constexpr std::string_view benchmark = "multiconn";
constexpr int client_rank = 1;
constexpr std::int64_t numbers[]{1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr micro::Dimensions dimensions{
    .choice = {}, .amount = {.key = "connections", .defaults = numbers, .least = 1, .most = 256}};

constexpr std::string_view usage =
    R"(usage: fabricbench-endpoints listen ADDRESS PORT [options] | connect ADDRESS PORT [options]
       fabricbench-endpoints --help | --version

multiconn over libfabric's endpoints: the server listens at an address of its own for the client, which connects there
and prints the results. Both are given the same options; FI_PROVIDER chooses the provider.

options (--name value or --name=value):
  --sizes LIST       message sizes, comma-separated bytes; --min-size B, --max-size B: doubled sizes
  --connections K    list of numbers of connections, 1 to 256 (1,2,4 ... 256)
  --iterations N     timed rounds (a quarter of N) and windows (a tenth) for sizes up to 64 KiB (1000)
  --warmup N         dropped ones before them, likewise (100)
  --check            checked mode: every byte of every message is verified on arrival; not for timing

environment: FABRICBENCH_MICRO_FAULT=flip corrupts one byte of the first verified message (for tests)
output: lines #@key=value and CSV; last line #@end=ok (failed: a wrong answer; absent: truncated).
exit code: 0 verified, 1 wrong answer or the other side is gone, 2 bad input.
)";

/// What is to be done.
struct Request {
  bool serves = false;
  std::string address = {}, port = {};
  std::string words = {};  ///< the options as given
  micro::Options options = {};
  bool flip = false;
};

/// One of the two durations that are measured at every point.
struct Quantity {
  std::string_view metric;
  void (Connections::*run)();
  std::int64_t fewer_iterations;
  std::int64_t messages;  ///< each way on each connection
  bool is_window;
};
constexpr Quantity quantities[]{{.metric = "normalised_latency_us",
                                 .run = &Connections::round,
                                 .fewer_iterations = 4,
                                 .messages = 1,
                                 .is_window = false},
                                {.metric = "window_us",
                                 .run = &Connections::window,
                                 .fewer_iterations = 10,
                                 .messages = messages_per_connection,
                                 .is_window = true}};

Request parse_request(std::span<const char* const> arguments) {
  if (arguments.size() < 3)
    throw UsageError("\"listen\" or \"connect\", an address and a port are needed; see --help");
  const std::string_view role = arguments[0];
  if (role != "listen" && role != "connect") {
    throw UsageError("\"" + std::string(role) + "\" is neither \"listen\" nor \"connect\"; see " +
                     "--help");
  }
  Request request{.serves = role == "listen", .address = arguments[1], .port = arguments[2]};
  const auto given = arguments.subspan(3);
  for (const char* const word : given) request.words.append(word).append("\n");
  request.options = micro::parse_options(given, dimensions, micro::largest_size_in_memory());
  if (request.options.time_limit_s > 0.0)
    throw UsageError("--time-limit is not known here; give fewer --iterations");
  const micro::Fault fault = micro::parse_fault(std::getenv("FABRICBENCH_MICRO_FAULT"));
  request.flip = fault.kind == micro::Fault::Kind::flip;
  if (!request.flip && fault.kind != micro::Fault::Kind::none)
    throw UsageError("FABRICBENCH_MICRO_FAULT: only flip is known here; unset it");
  return request;
}

/// Every endpoint needs some files: as many as this process may have open.
void allow_open_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

/// Greets the other side, which must have been given the same options; returns its host's name and
/// this one's, the server's first.
std::string greet(Peer& peer, const Request& request) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string own(name.data());
  const std::string theirs = peer.swap(request.words + own, [] {});
  const std::size_t length = request.words.size();
  if (theirs.compare(0, length, request.words) != 0 ||
      theirs.find('\n', length) != std::string::npos) {
    throw UsageError("the other side was given other options; give both the same");
  }
  return request.serves ? own + "," + theirs.substr(length) : theirs.substr(length) + "," + own;
}

void print_header(micro::Report& report, const Request& request, const Network& network,
                  const std::string& hosts) {
  const timing::ClockQuality clock = timing::measure_clock();
  const micro::Options& options = request.options;
  report.key("schema", 1);
  report.key("tool", "micro");
  report.key("benchmark", benchmark);
  report.key("version", micro::version());
  report.key("libfabric",
             std::to_string(FI_MAJOR(fi_version())) + "." + std::to_string(FI_MINOR(fi_version())));
  report.key("provider", network.provider());
  report.key("domain", network.info().domain_attr->name);
  report.key("endpoint_type", network.connected() ? "FI_EP_MSG" : "FI_EP_RDM");
  report.key("ranks", 2);
  report.key("hosts", hosts);
  report.key("clock", timing::clock_name);
  report.key("clock_resolution_ns", micro::fixed(clock.resolution_ns, 0));
  report.key("timer_overhead_ns", micro::fixed(clock.overhead_ns, 1));
  report.key("loop_overhead_ns", micro::fixed(timing::overhead_ns(), 0));
  report.key("mode", options.check ? "checked" : "timed");
  if (request.flip) report.key("fault", "flip");
  report.key("synchronisation",
             "an empty message each way before each size; warm-up and timed iterations follow it "
             "without another");
  report.key("iteration_rule",
             std::to_string(options.iterations) + " up to " +
                 std::to_string(timing::full_count_limit_bytes) + " bytes, above max(min(N," +
                 std::to_string(timing::least_iterations) + "),N*" +
                 std::to_string(timing::full_count_limit_bytes) + "/msg_size_bytes)");
  report.key("reporting_ranks", 1);
  report.columns();
}

/// What the timing loop repeats; in checked mode every byte is written before and compared after
/// it, outside the clock. Keeps the first wrong byte.
template <bool Checked>
struct Operation {
  Connections& connections;
  void (Connections::* const run_all)();
  bool flip_next;
  std::optional<micro::Mismatch>& mismatch;

  void before(std::int64_t iteration) {
    if constexpr (Checked) connections.fill(iteration, std::exchange(flip_next, false));
  }
  void run() { (connections.*run_all)(); }
  void after(std::int64_t iteration) {
    if constexpr (Checked) {
      if (!mismatch) mismatch = connections.verify(iteration);
    }
  }
};

/// Throws UsageError if those of both processes exceed a quarter of the memory.
Buffers make_buffers(const micro::Options& options) {
  const auto most = [](const auto& values) {
    return *std::max_element(values.begin(), values.end());
  };
  const std::int64_t size = most(options.sizes_bytes);
  const std::int64_t slots = options.check ? most(options.amounts) : 1;
  static_cast<void>(micro::capacity(2 * (1 + slots), size));
  return {.send = micro::Buffer(micro::capacity(1, size)),
          .receive = micro::Buffer(micro::capacity(slots, size)),
          .largest_size = static_cast<std::size_t>(size),
          .checked = options.check};
}

/// Measures all points, on both sides alike; the client's report is active.
class Session {
 public:
  Session(const Request& request, const Buffers& buffers, Peer& peer, const Network& network,
          micro::Report& report)
      : request_(request),
        options_(request.options),
        buffers_(buffers),
        peer_(peer),
        network_(network),
        report_(report),
        samples_ns_(timing::max_samples) {}

  /// Stops after the first number of connections with a wrong answer; returns whether all were
  /// right.
  bool run() {
    bool verified = true;
    std::optional<std::int64_t> refused;
    for (std::size_t i = 0; verified && i < options_.amounts.size(); ++i) {
      const std::int64_t amount = options_.amounts[i];
      if (refused && amount >= *refused) {
        report_gap(amount, "the provider has refused " + std::to_string(*refused));
        continue;
      }
      try {
        verified = measure_all(amount);
      } catch (const Refused& why) {
        if (opened_) throw;
        refused = amount;
        report_gap(amount, why.what());
      }
    }
    report_.key("verified", verified ? "yes" : "no");
    report_.key("payload_bytes", payload_bytes_);
    report_.key("payload_messages", payload_messages_);
    return verified;
  }

 private:
  /// All sizes over so many connections.
  bool measure_all(std::int64_t amount) {
    opened_ = false;
    Connections connections(network_, peer_, !request_.serves, static_cast<std::size_t>(amount),
                            buffers_);
    opened_ = true;
    if (!calibrated_) calibrate(connections);
    for (const std::int64_t size : options_.sizes_bytes) {
      connections.use_size(static_cast<std::size_t>(size));
      for (const Quantity& quantity : quantities) measure(connections, quantity, amount, size);
    }
    report_.flush();
    return connections.agree(!mismatch_);
  }

  /// Marks intervals that hold nothing but their synchronisation.
  void calibrate(Connections& connections) {
    calibrated_ = true;
    for (int i = 0; i < timing::calibrations; ++i) {
      const std::string name = timing::calibration_label(i);
      connections.synchronise();
      timing::mark_begin(name);
      connections.synchronise();
      connections.synchronise();
      timing::mark_end(name);
    }
  }

  void measure(Connections& connections, const Quantity& quantity, std::int64_t amount,
               std::int64_t size) {
    const auto scaled = [&](std::int64_t asked, std::int64_t least) {
      return timing::scaled_count(asked, size, least, quantity.fewer_iterations);
    };
    const timing::Plan plan =
        timing::make_plan(scaled(options_.iterations, timing::least_iterations),
                          scaled(options_.warmup, timing::least_warmup));
    const std::span<std::int64_t> samples =
        std::span(samples_ns_).first(static_cast<std::size_t>(plan.samples));
    const auto synchronise = [&] { connections.synchronise(); };
    const std::string name = std::string(quantity.metric).append(".").append(label(amount, size));
    synchronise();
    timing::mark_begin(name);
    Operation<true> checked{connections, quantity.run, request_.flip, mismatch_};
    const std::int64_t all = plan.warmup + plan.iterations();
    if (options_.check) {
      timing::measure(synchronise, checked, plan, 0, samples);
    } else {
      Operation<false> timed{connections, quantity.run, false, mismatch_};
      timing::measure(synchronise, timed, plan, 0, samples);
      timing::repeat(checked, all, 1);
    }
    synchronise();
    timing::mark_end(name);
    if (mismatch_ && !complained_) complain_once();
    const std::int64_t verification = options_.check ? 0 : 1;
    const std::int64_t carried = 2 * amount * quantity.messages;
    // Messages that follow each other on a connection may share a packet, so one of them counts.
    const std::int64_t messages = (all + verification) * 2 * amount;
    const std::int64_t bytes = (all + verification) * carried * size;
    payload_messages_ += messages;
    payload_bytes_ += bytes;
    report_.key("interval_bytes." + name, bytes);
    report_.key("interval_messages." + name, messages);
    report(quantity, amount, size, plan, verification, carried, samples);
  }

  void report(const Quantity& quantity, std::int64_t amount, std::int64_t size,
              const timing::Plan& plan, std::int64_t verification, std::int64_t carried,
              std::span<const std::int64_t> samples) {
    const std::string suffix =
        std::string(1, '.').append(quantity.metric).append(".").append(label(amount, size));
    report_.key("iterations" + suffix, plan.iterations());
    report_.key("warmup" + suffix, plan.warmup);
    report_.key("verification" + suffix, verification);
    report_.key("sample_stride" + suffix, plan.stride);
    if (quantity.is_window) {
      report_.key("bytes_per_run" + suffix, carried * size);
      report_.key("messages_per_run" + suffix, carried);
    }
    const std::string case_name = "connections=" + std::to_string(amount);
    report_.rows({.benchmark = benchmark,
                  .case_name = case_name,
                  .metric = quantity.metric,
                  .msg_size_bytes = size,
                  .values_per_run = quantity.is_window ? 1.0 : 2.0 * static_cast<double>(amount)},
                 client_rank, samples);
  }

  void report_gap(std::int64_t amount, const std::string& why) {
    for (const std::int64_t size : options_.sizes_bytes)
      report_.key("skipped." + label(amount, size), why);
  }

  static std::string label(std::int64_t amount, std::int64_t size) {
    return "connections:" + std::to_string(amount) + "." + std::to_string(size);
  }

  void complain_once() {
    complained_ = true;
    complain(program, std::string(benchmark) + ": wrong answer on rank " +
                          std::to_string(request_.serves ? 0 : client_rank) + ": message of " +
                          std::to_string(mismatch_->message.msg_size_bytes) + " B, iteration " +
                          std::to_string(mismatch_->message.iteration) + ", offset " +
                          std::to_string(mismatch_->offset) + ": expected " +
                          std::to_string(mismatch_->expected) + ", found " +
                          std::to_string(mismatch_->found));
  }

  const Request& request_;
  const micro::Options& options_;
  const Buffers& buffers_;
  Peer& peer_;
  const Network& network_;
  micro::Report& report_;
  std::vector<std::int64_t> samples_ns_;
  std::optional<micro::Mismatch> mismatch_;
  bool opened_ = false;
  bool complained_ = false;
  bool calibrated_ = false;
  std::int64_t payload_bytes_ = 0;
  std::int64_t payload_messages_ = 0;
};

int run(const Request& request) {
  const Buffers buffers = make_buffers(request.options);
  allow_open_files();
  Peer peer(request.serves, request.address, request.port);
  const std::string hosts = greet(peer, request);
  const Network network(peer.address());
  if (const std::string theirs = peer.swap(network.provider(), [] {}); theirs != network.provider())
    throw UsageError("the other side has the provider " + theirs + ", this one " +
                     network.provider() + "; set FI_PROVIDER to the same");
  micro::Report report(!request.serves);
  print_header(report, request, network, hosts);
  const bool verified = Session(request, buffers, peer, network, report).run();
  report.key("end", verified ? "ok" : "failed");
  report.flush();
  if (!report.written())
    complain(program, "stdout: the output could not be written in full; is the disk full?");
  return verified && report.written() ? exit_verified : exit_wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--version" || first == "--help" || first == "-h") {
    const std::string text(first == "--version" ? micro::version() : usage);
    std::printf("%s%s", text.c_str(), first == "--version" ? "\n" : "");
    return exit_verified;
  }
  try {
    return run(parse_request({argv + 1, argv + std::max(argc, 1)}));
  } catch (const UsageError& wrong) {
    complain(program, wrong.what());
    return exit_bad_input;
  } catch (const std::exception& failure) {
    complain(program, failure.what());
    return exit_wrong;
  }
}
