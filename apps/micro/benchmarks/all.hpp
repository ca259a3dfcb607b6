// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "micro/benchmark.hpp"
#include "micro/setting.hpp"

/// Every benchmark that sends messages, each defined in a file of this folder and listed in
/// registry.cpp.
namespace fabricbench::micro {

extern const Benchmark allgather, allreduce, alltoall, barrier, bcast, gather, reduce,
    reduce_scatter, scatter;
extern const Benchmark pingpong, unidirectional, bidirectional, bothway;
extern const Benchmark put, get;
extern const Benchmark plogp, reuse, unexpected, posted, multiconn;
extern const Benchmark overlap, progress, hotspot;
extern const Benchmark pair_latency, pair_bandwidth;

}  // namespace fabricbench::micro
