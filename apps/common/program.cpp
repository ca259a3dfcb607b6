// SPDX-License-Identifier: Apache-2.0
#include "common/program.hpp"

#include <exception>

#include "common/environment.hpp"
#include "common/usage_error.hpp"

namespace fabricbench {

int run_program(std::string_view program, int argc, char** argv, const std::string& error,
                const std::function<int(const World&)>& run) {
  // A launcher may kill all processes as soon as one ends with an error, before another prints.
  // So all ranks start MPI, rank 0 prints, and they end together.
  if (!error.empty() && !started_by_launcher()) {
    complain(program, error);
    return exit_bad_input;
  }
  const Environment environment(argc, argv);
  const World world = mpi_world();
  try {
    if (!error.empty()) throw UsageError(error);
    check_expected_ranks(world);
    return run(world);
  } catch (const UsageError& wrong) {
    if (world.rank == 0) complain(program, wrong.what());
    return exit_bad_input;
  } catch (const std::exception& failure) {
    complain(program, "rank " + std::to_string(world.rank) + ": " + failure.what() +
                          "; all ranks are aborted");
    MPI_Abort(world.comm, exit_wrong);
  }
  return exit_wrong;
}

}  // namespace fabricbench
