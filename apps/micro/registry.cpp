// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "common/usage_error.hpp"
#include "micro/benchmarks/all.hpp"

namespace fabricbench::micro {
namespace {

const Benchmark wireup{
    .name = "wireup",
    .summary = "MPI_Init and MPI_Finalize, no message: what wire-up moves on a transport",
    .ranks = Ranks::any};

constexpr std::array all{
    &allgather,      &allreduce, &alltoall,       &barrier,      &bcast,
    &bidirectional,  &bothway,   &gather,         &get,          &hotspot,
    &multiconn,      &overlap,   &pair_bandwidth, &pair_latency, &pingpong,
    &plogp,          &posted,    &progress,       &put,          &reduce,
    &reduce_scatter, &reuse,     &scatter,        &unexpected,   &unidirectional,
    &wireup};

}  // namespace

std::span<const Benchmark* const> benchmarks() {
  return all;
}

const Benchmark& find_benchmark(std::string_view name) {
  const auto* const found =
      std::find_if(all.begin(), all.end(), [&](const Benchmark* b) { return b->name == name; });
  if (found == all.end()) {
    throw UsageError("\"" + std::string(name) +
                     "\" is no benchmark of this program; `fabricbench-micro --list` names them");
  }
  return **found;
}

}  // namespace fabricbench::micro
