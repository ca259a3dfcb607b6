// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "common/complain.h"
#include "common/program.hpp"
#include "common/usage_error.hpp"
#include "common/world.hpp"
#include "npb/driver/kernel.hpp"
#include "npb/driver/memory.hpp"
#include "npb/driver/options.hpp"
#include "npb/driver/phases.hpp"
#include "npb/driver/report.hpp"

namespace {

using namespace fabricbench;
using namespace fabricbench::npb;

std::string program() {
  std::string name = "fabricbench-";
  for (const char c : kernel().name) name += static_cast<char>(std::tolower(c));
  return name;
}

/// The requested run, or the error in the request. Parsed before MPI_Init.
struct Request {
  Options options;
  bool fault = false;
  std::string error;  ///< empty if there is none
};

Request parse_request(int argc, char** argv) {
  Request request;
  try {
    request.options = parse_options({argv + 1, argv + std::max(argc, 1)}, kernel());
    request.fault = parse_fault(std::getenv("FABRICBENCH_NPB_FAULT"));
  } catch (const UsageError& error) {
    request.error = error.what();
  }
  return request;
}

int run(const Request& request, const World& world) {
  const Problem problem{.problem_class = request.options.problem_class,
                        .ranks = world.ranks,
                        .layout = request.options.layout,
                        .buckets = request.options.buckets,
                        .fault = request.fault};
  const std::string refusal = kernel().refusal(problem);
  if (!refusal.empty()) throw UsageError(refusal);
  check_memory(kernel().bytes_per_rank(problem), request.options.memory_bytes, world.comm);

  if (request.options.timers) enable_phases();
  bool written = world.rank != 0 || print(header(kernel(), problem));
  const Outcome outcome = kernel().run(problem, world.comm);
  const double seconds = timed_seconds(world.comm);
  const std::string phases =
      request.options.timers ? phases_report(kernel().phases, world.comm) : "";
  int verified = outcome.verified;
  MPI_Bcast(&verified, 1, MPI_INT, 0, world.comm);
  if (world.rank == 0) {
    written =
        print(outcome.text + results(kernel(), problem, outcome, seconds) + phases) && written;
    if (!written) complain_as(program().c_str(), output_incomplete);
  }
  return verified && written ? exit_verified : exit_wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && (std::string(argv[1]) == "--help" || std::string(argv[1]) == "-h")) {
    return print("usage: " + program() + " --class CLASS [options]\n\n" + options_help(kernel()))
               ? exit_verified
               : exit_wrong;
  }
  const Request request = parse_request(argc, argv);
  return run_program(program(), argc, argv, request.error,
                     [&](const World& world) { return run(request, world); });
}
