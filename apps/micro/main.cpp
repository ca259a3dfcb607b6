// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "common/control_variables.hpp"
#include "common/program.hpp"
#include "common/usage_error.hpp"
#include "micro/benchmark.hpp"
#include "micro/describe.hpp"
#include "micro/help.hpp"
#include "micro/job.hpp"
#include "micro/mpi_processes.hpp"
#include "micro/options.hpp"
#include "micro/report.hpp"
#include "micro/runner.hpp"
#include "micro/setting.hpp"

namespace {

using namespace fabricbench;
using namespace fabricbench::micro;

constexpr const char* program = "fabricbench-micro";

constexpr std::string_view rest_of_help = R"(
environment:
  FABRICBENCH_EXPECT_RANKS=N        exit 2 unless MPI_COMM_WORLD has N ranks (with a wrong PMI each of N processes has its own)
  FABRICBENCH_MICRO_FAULT=...       injects a fault; for tests of the harness only:
      flip       every rank corrupts one byte of the first verified message of each size: exit 1
      hang       every rank sleeps forever after the first size
      slow:US    every reported value becomes US microseconds larger
      exhaust:N  the queue of unexpected or posted accepts N entries and then reports that memory is exhausted

output: lines #@key=value and CSV. The last line is #@end=ok, or #@end=failed after a wrong answer. Without it the
output is truncated.
exit code: 0 verified, 1 wrong answer, 2 bad input.
)";

/// The job, or the error in the request. Parsed before MPI_Init.
struct Request {
  Job job;
  std::string error;  ///< empty if there is none
};

Request parse_request(int argc, char** argv) {
  Request request;
  try {
    const std::span<const char* const> arguments(argv + 1, argv + std::max(argc, 1));
    if (arguments.empty()) {
      throw UsageError("no benchmark is named; give one as the first argument; see --help");
    }
    const Benchmark& benchmark = find_benchmark(arguments.front());
    request.job = parse_job(program, benchmark, arguments.subspan(1));
    if (!benchmark.sends_messages() && request.job.options.any_given) {
      throw UsageError(std::string(benchmark.name) + " takes no options; leave them out");
    }
  } catch (const UsageError& error) {
    request.error = error.what();
  }
  return request;
}

/// Prints the answer to an option that needs no MPI. Returns whether `word` is one.
bool answer_without_mpi(std::string_view word) {
  if (word == "--list") {
    print(list(benchmarks()));
  } else if (word == "--describe") {
    describe(benchmarks());
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

void print_control_variables(Report& report) {
  for (const ControlVariable& variable : control_variables()) {
    report.key("cvar." + variable.name, variable.value);
  }
}

int run(const Job& job, const World& world) {
  const bool sends_messages = job.benchmark->sends_messages();
  job.benchmark->check_ranks(world.ranks);
  Report report(world.rank == 0);
  // Gathering the names of the hosts sends messages, so a benchmark without messages omits them.
  print_header(report, job,
               {.libraries = {{"mpi_library", mpi_library()}, {"mpi_standard", mpi_standard()}},
                .ranks = world.ranks,
                .hosts = sends_messages ? gather_hosts(world) : ""});
  bool verified = true;
  if (sends_messages) {
    MpiProcesses processes(world);
    verified = Runner(job, processes, set_up_parts(job, world), report).run();
  } else {
    if (world.rank == 0) print_control_variables(report);
    report.key("payload_bytes", 0);
    report.key("payload_messages", 0);
  }
  return finish(report, job, verified);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && answer_without_mpi(argv[1])) return exit_verified;
  const Request request = parse_request(argc, argv);
  return run_program(program, argc, argv, request.error,
                     [&](const World& world) { return run(request.job, world); });
}
