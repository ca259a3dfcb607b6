// SPDX-License-Identifier: Apache-2.0
//
// pingpong: the initiator sends msg_size bytes (blocking MPI_Send), the responder receives them
// (MPI_Recv) and sends as many back. The initiator reports half of the round trip.
#include "micro/benchmarks/pingpong.hpp"

namespace fabricbench::micro {
namespace {

constexpr Quantity quantities[]{{.metric = "latency_us", .set_up = make_part<PingPong>}};

constexpr Metric metrics[]{
    {.name = "latency"}, {.name = "latency_mean"}, {.name = "bandwidth", .bandwidth = true}};

const Benchmark pingpong{.name = "pingpong",
                         .summary = "blocking send and receive between two ranks; half round trip",
                         .quantities = quantities,
                         .metrics = metrics,
                         .role = "half_round_trip"};
const Registration registration{&pingpong};

}  // namespace
}  // namespace fabricbench::micro
