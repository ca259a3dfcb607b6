// SPDX-License-Identifier: Apache-2.0
//
// posted: each rank has k posted receives that match no message yet. The receive of the ping-pong
// is posted after them, so the search for it passes them all in a stack that keeps one list.
#include "micro/benchmarks/queues.hpp"

namespace fabricbench::micro {
namespace {

class Posted final : public QueuePart {
 public:
  explicit Posted(const Setting& setting) : QueuePart(setting, 2) {}

  int enter(const Point& point) override {
    next_point(point);
    const int error = start_receives(queued());
    if (!initiates_) post();
    there_ = exchange(receives());
    return error;
  }
  void before() override {
    if (initiates_) post();
  }
  /// The responder posts its next receive before it answers, so that it is there when the next
  /// message comes.
  void run() override {
    if (initiates_) send_measured(point_.msg_size);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    if (!initiates_) {
      post();
      send_measured(point_.msg_size);
    }
  }
  void leave() override {
    static_cast<void>(start_sends(there_));
    if (initiates_) {
      send_measured(0);
    } else {
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }
    wait_for_queued();
  }
  /// What the last message but those that are still awaited has filled.
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    const std::size_t filled = initiates_ ? posted_ : posted_ - 1;
    return find_mismatch(slot(filled), message(peer_, iteration));
  }

 private:
  [[nodiscard]] std::span<std::uint8_t> slot(std::size_t number) const {
    return {receive_.data() + (number % 2) * size(), size()};
  }
  void post() {
    const int tag = point_.choice == wildcard ? MPI_ANY_TAG : measured_tag;
    MPI_Irecv(slot(++posted_).data(), point_.msg_size, MPI_BYTE, peer_, tag, comm_, &request_);
  }
  void send_measured(int bytes) const {
    MPI_Send(send_.data(), bytes, MPI_BYTE, peer_, measured_tag, comm_);
  }

  std::int64_t there_ = 0;  ///< receives that the peer has posted
  std::size_t posted_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

constexpr std::string_view kinds_of_tags[]{"equal", "different", "wildcard"};
constexpr Quantity quantities[]{{.metric = "latency_us", .set_up = make_part<Posted>}};
constexpr Benchmark posted = queue_record(
    "posted", "ping-pong past k posted receives that do not match", kinds_of_tags, quantities);
const Registration registration{&posted};

}  // namespace
}  // namespace fabricbench::micro
