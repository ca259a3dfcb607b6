// SPDX-License-Identifier: Apache-2.0
//
// unexpected: each rank has k unexpected messages, for which no receive is posted. Both ranks then
// run a ping-pong of synchronous sends, so that no search overlaps with a transfer.
#include <algorithm>

#include "micro/benchmarks/queues.hpp"

namespace fabricbench::micro {
namespace {

class Unexpected final : public QueuePart {
 public:
  explicit Unexpected(const Setting& setting) : QueuePart(setting, 1) {}

  int enter(const Point& point) override {
    next_point(point);
    received_early_ = false;
    int error = start_sends(queued());
    if (const auto there = exchange_in_time(sends())) {
      there_ = *there;
      // Messages of one sender do not overtake each other, so with the last all are here. It stays
      // unreceived.
      if (there_ > 0) MPI_Probe(peer_, tag(there_ - 1), comm_, MPI_STATUS_IGNORE);
      return error;
    }
    // Nothing else gets past the queue, the ranks' agreement neither, before it is received.
    error = start_receives(queued());
    cancel_receives_from(exchanged_late());
    received_early_ = true;
    return std::max(error, error_stuck);
  }
  void run() override {
    if (initiates_) {
      send_synchronously();
      receive_measured();
    } else {
      receive_measured();
      send_synchronously();
    }
  }
  void leave() override {
    if (!received_early_) static_cast<void>(start_receives(there_));
    wait_for_queued();
  }

 private:
  void send_synchronously() const {
    MPI_Ssend(send_.data(), point_.msg_size, MPI_BYTE, peer_, measured_tag, comm_);
  }
  void receive_measured() const {
    MPI_Recv(receive_.data(), point_.msg_size, MPI_BYTE, peer_, measured_tag, comm_,
             MPI_STATUS_IGNORE);
  }

  std::int64_t there_ = 0;  ///< messages of the peer that wait here
  bool received_early_ = false;
};

constexpr std::string_view kinds_of_tags[]{"equal", "different"};
constexpr Quantity quantities[]{{.metric = "latency_us", .set_up = make_part<Unexpected>}};
constexpr Benchmark unexpected =
    queue_record("unexpected", "ping-pong of synchronous sends past k unexpected messages",
                 kinds_of_tags, quantities);
const Registration registration{&unexpected};

}  // namespace
}  // namespace fabricbench::micro
