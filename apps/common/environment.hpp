// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

namespace fabricbench {

/// Lifetime of MPI in this process.
class Environment {
 public:
  Environment(int& argc, char**& argv) { MPI_Init(&argc, &argv); }
  ~Environment() { MPI_Finalize(); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

}  // namespace fabricbench
