// SPDX-License-Identifier: Apache-2.0
#include "common/program.hpp"

#include <cstdio>
#include <exception>

#include "common/complain.h"
#include "common/environment.hpp"
#include "common/usage_error.hpp"

namespace fabricbench {

int run_program(const std::string& program, int argc, char** argv, const std::string& error,
                const std::function<int(const World&)>& run) {
  // A launcher may kill all processes as soon as one ends with an error, before another prints.
  // So all ranks start MPI, rank 0 prints, and they end together.
  if (!error.empty() && !started_by_launcher()) {
    complain_as(program.c_str(), error.c_str());
    return exit_bad_input;
  }
  const Environment environment(argc, argv);
  const World world = mpi_world();
  try {
    if (!error.empty()) throw UsageError(error);
    check_expected_ranks(world);
    return run(world);
  } catch (const UsageError& wrong) {
    if (world.rank == 0) complain_as(program.c_str(), wrong.what());
    return exit_bad_input;
  } catch (const std::exception& failure) {
    const std::string text =
        "rank " + std::to_string(world.rank) + ": " + failure.what() + "; all ranks are aborted";
    complain_as(program.c_str(), text.c_str());
    MPI_Abort(world.comm, exit_wrong);
  }
  return exit_wrong;
}

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

}  // namespace fabricbench
