// SPDX-License-Identifier: Apache-2.0
//
// pingpong: the initiator sends msg_size bytes (blocking MPI_Send), the responder receives them
// (MPI_Recv) and sends as many back. Reported by the initiator: half of the round trip.
#include "micro/benchmarks/all.hpp"
#include "micro/benchmarks/pair.hpp"

namespace fabricbench::micro {
namespace {

class PingPong final : public PairPart {
 public:
  using PairPart::PairPart;

  void run() override {
    if (initiates_) {
      send(point_.msg_size);
      receive(point_.msg_size);
    } else {
      receive(point_.msg_size);
      send(point_.msg_size);
    }
  }
  Traffic moved() const override {
    return 2 * pairs() * Traffic{.messages = 1, .bytes = point_.msg_size};
  }
  double values_per_run() const override { return 2.0; }
};

constexpr Quantity quantities[]{{.metric = "latency_us", .set_up = make_part<PingPong>}};

}  // namespace

const Benchmark pingpong{.name = "pingpong",
                         .summary = "blocking send and receive between two ranks; half round trip",
                         .quantities = quantities};

}  // namespace fabricbench::micro
