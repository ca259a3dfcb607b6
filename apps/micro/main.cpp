// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/control_variables.hpp"
#include "common/program.hpp"
#include "common/usage_error.hpp"
#include "micro/benchmark.hpp"
#include "micro/describe.hpp"
#include "micro/fault.hpp"
#include "micro/msg_sizes.hpp"
#include "micro/options.hpp"
#include "micro/report.hpp"
#include "micro/runner.hpp"
#include "timing/clock.hpp"
#include "timing/loop.hpp"

namespace {

using namespace fabricbench;
using namespace fabricbench::micro;

constexpr std::string_view program = "fabricbench-micro";

constexpr std::string_view rest_of_help = R"(
environment:
  FABRICBENCH_EXPECT_RANKS=N        exit 2 unless MPI_COMM_WORLD has N ranks (a wrong PMI gives N worlds of one)
  FABRICBENCH_MICRO_FAULT=...       for tests of the harness only, injects a fault:
      flip       every rank corrupts one byte of the first verified message of each size: exit 1
      hang       rank 0 sleeps forever after the first size
      slow:US    every reported value becomes US microseconds larger
      exhaust:N  a queue of unexpected or posted takes N entries, then the stack is out of memory

output: lines #@key=value and CSV; last line #@end=ok (failed: a wrong answer; absent: truncated).
exit code: 0 verified, 1 wrong answer, 2 bad input.
)";

/// The parsed command line, or why it is wrong; known before MPI_Init.
struct Request {
  Options options;
  Fault fault;
  const Benchmark* benchmark = nullptr;
  std::string error;  ///< empty if there is none
};

Request parse_request(int argc, char** argv) {
  Request request;
  try {
    const std::span<const char* const> arguments(argv + 1, argv + std::max(argc, 1));
    if (arguments.empty()) {
      throw UsageError("no benchmark is named; give one as first argument, see --help");
    }
    request.fault = parse_fault(std::getenv("FABRICBENCH_MICRO_FAULT"));
    request.benchmark = &find_benchmark(arguments.front());
    request.options = parse_options(arguments.subspan(1), request.benchmark->dimensions,
                                    largest_size_in_memory());
    if (!request.benchmark->sends_messages() && request.options.any_given) {
      throw UsageError(std::string(request.benchmark->name) + " takes no options; leave them out");
    }
  } catch (const UsageError& error) {
    request.error = error.what();
  }
  return request;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Prints the answer to an option that needs no MPI. Returns whether `word` is one.
bool answer_without_mpi(std::string_view word) {
  if (word == "--list") {
    print(list(benchmarks()));
  } else if (word == "--describe") {
    print(describe(benchmarks()));
  } else if (word == "--version") {
    print(std::string(version()) + "\n");
  } else if (word == "--help" || word == "-h") {
    print(
        "usage: fabricbench-micro BENCHMARK [options]\n"
        "       fabricbench-micro --list | --describe | --help | --version\n"
        "--describe prints the benchmarks, their metrics and their cases as JSON.\n\n");
    print(list(benchmarks()));
    print(options_help());
    print(own_options_help(benchmarks()));
    print(rest_of_help);
  } else {
    return false;
  }
  return true;
}

/// Prints the header of the output. The names of the hosts are gathered with messages, so a
/// benchmark that sends none does not print them.
void print_header(Report& report, const Request& request, const World& world) {
  const timing::ClockQuality clock = timing::measure_clock();
  report.key("schema", 1);
  report.key("tool", "micro");
  report.key("benchmark", request.benchmark->name);
  report.key("version", version());
  report.key("mpi_library", mpi_library());
  report.key("mpi_standard", mpi_standard());
  report.key("ranks", world.ranks);
  if (request.benchmark->sends_messages()) report.key("hosts", gather_hosts(world));
  report.key("clock", timing::clock_name);
  report.key("clock_resolution_ns", fixed(clock.resolution_ns, 0));
  report.key("timer_overhead_ns", fixed(clock.overhead_ns, 1));
  report.key("loop_overhead_ns", fixed(timing::overhead_ns(), 0));
  report.key("mode", request.options.check ? "checked" : "timed");
  if (request.fault.kind != Fault::Kind::none) report.key("fault", request.fault.text);
  if (!request.benchmark->sends_messages()) return;
  report.key("synchronisation", request.benchmark->synchronisation);
  report.key("iteration_rule",
             std::to_string(request.options.iterations) + " up to " +
                 std::to_string(timing::full_count_limit_bytes) + " bytes, above max(min(N," +
                 std::to_string(timing::least_iterations) + "),N*" +
                 std::to_string(timing::full_count_limit_bytes) + "/msg_size_bytes)");
  report.key("time_limit_s", fixed(request.options.time_limit_s, 6));
}

void print_control_variables(Report& report) {
  for (const ControlVariable& variable : control_variables()) {
    report.key("cvar." + variable.name, variable.value);
  }
}

int run(const Request& request, const World& world) {
  const Benchmark& benchmark = *request.benchmark;
  benchmark.check_ranks(world.ranks);
  Report report(world.rank == 0);
  print_header(report, request, world);
  bool verified = true;
  if (benchmark.sends_messages()) {
    verified = Runner(benchmark, request.options, request.fault, world, report).run();
  } else {
    if (world.rank == 0) print_control_variables(report);
    report.key("payload_bytes", 0);
    report.key("payload_messages", 0);
  }
  report.key("end", verified ? "ok" : "failed");
  report.flush();
  if (!report.written())
    complain(program, "stdout: the output could not be written in full; is the disk full?");
  return verified && report.written() ? exit_verified : exit_wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && answer_without_mpi(argv[1])) return exit_verified;
  const Request request = parse_request(argc, argv);
  return run_program(program, argc, argv, request.error,
                     [&](const World& world) { return run(request, world); });
}
