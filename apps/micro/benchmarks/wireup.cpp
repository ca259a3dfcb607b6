// SPDX-License-Identifier: Apache-2.0
//
// wireup: MPI_Init and MPI_Finalize without a message between them. Shows the traffic of the
// wire-up on each transport.
#include "micro/benchmark.hpp"
#include "micro/setting.hpp"

namespace fabricbench::micro {
namespace {

const Benchmark wireup{
    .name = "wireup",
    .summary = "MPI_Init and MPI_Finalize without a message; traffic of the wire-up",
    .ranks = Ranks::any};
const Registration registration{&wireup};

}  // namespace
}  // namespace fabricbench::micro
