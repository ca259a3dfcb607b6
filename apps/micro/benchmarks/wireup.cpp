// SPDX-License-Identifier: Apache-2.0
//
// wireup: MPI_Init and MPI_Finalize without a message between them, which shows what a transport
// carries before a benchmark sends anything.
#include "micro/benchmark.hpp"
#include "micro/setting.hpp"

namespace fabricbench::micro {
namespace {

const Benchmark wireup{
    .name = "wireup",
    .summary = "MPI_Init and MPI_Finalize, no message: what wire-up moves on a transport",
    .ranks = Ranks::any};
const Registration registration{&wireup};

}  // namespace
}  // namespace fabricbench::micro
