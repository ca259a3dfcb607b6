// SPDX-License-Identifier: Apache-2.0
//
// reuse: a ping-pong over 1024 pairs of a send and a receive buffer (Rashti and Afsahi 2007,
// section 6.4). With 100 % re-use every iteration uses the buffers of the previous one, with 0 %
// the next pair of buffers; other percentages spread the changes evenly. The initiator reports half
// of the round trip.
#include <algorithm>
#include <vector>

#include "micro/benchmarks/rank_pair.hpp"

namespace fabricbench::micro {
namespace {

constexpr std::int64_t most_buffers = 1024;
constexpr std::int64_t least_buffers = 2;
constexpr std::int64_t always = 100;

/// Returns the number of buffers that fit into 1/32 of the memory of the node.
std::int64_t buffers(const Setting& setting) {
  const std::int64_t room = quarter_of_memory() / 8;
  const std::int64_t fitting = room / std::max<std::int64_t>(setting.largest_size, 1);
  return std::clamp(fitting, least_buffers, most_buffers);
}

class Reuse final : public RankPairPart {
 public:
  explicit Reuse(const Setting& setting) : RankPairPart(setting, 0) {
    const std::int64_t count = buffers(setting);
    static_cast<void>(capacity(2 * count, setting.largest_size));
    for (std::int64_t i = 0; i < count; ++i) {
      sends_.emplace_back(capacity(1, setting.largest_size));
      receives_.emplace_back(capacity(1, setting.largest_size));
    }
  }

  void before() override {
    pending_ += always - point_.amount;
    if (pending_ < always) return;
    pending_ -= always;
    current_ = (current_ + 1) % sends_.size();
  }
  void run() override {
    if (initiates_) {
      send_current();
      receive_current();
    } else {
      receive_current();
      send_current();
    }
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    return find_mismatch(receives_[current_].first(size()), message(peer_, iteration));
  }
  std::span<std::uint8_t> outgoing() override { return sends_[current_].first(size()); }
  Traffic moved() const override {
    return 2 * pairs() * Traffic{.messages = 1, .bytes = point_.msg_size};
  }
  double values_per_run() const override { return 2.0; }

 private:
  void send_current() const {
    MPI_Send(sends_[current_].data(), point_.msg_size, MPI_BYTE, peer_, measured_tag,
             setting_.world.comm);
  }
  void receive_current() const {
    MPI_Recv(receives_[current_].data(), point_.msg_size, MPI_BYTE, peer_, measured_tag,
             setting_.world.comm, MPI_STATUS_IGNORE);
  }

  std::vector<Buffer> sends_;
  std::vector<Buffer> receives_;
  std::size_t current_ = 0;
  std::int64_t pending_ = 0;  ///< hundredths of a new buffer
};

constexpr std::int64_t shares[]{100, 75, 50, 25, 0};
constexpr Quantity quantities[]{{.metric = "latency_us", .set_up = make_part<Reuse>}};

constexpr Metric metrics[]{{.name = "latency"}, {.name = "latency_ratio"}};
constexpr Section section{
    .key = "reuse",
    .title = "Buffer re-use",
    .note =
        "Latency without re-use of buffers over latency with full re-use (Rashti 2007, "
        "figure 6): the extra cost of a message whose buffer the stack has not used recently.",
    .place = 4};
constexpr Picture pictures[]{{.metric = "latency_ratio", .only = "reuse=0"},
                             {.metric = "latency_ratio", .only = "reuse=50"}};

const Benchmark reuse{
    .name = "reuse",
    .summary =
        "ping-pong over 1024 buffers; a given percentage of iterations reuses the previous buffer",
    .dimensions =
        {.choice = {},
         .amount = {.key = "reuse",
                    .defaults = shares,
                    .least = 0,
                    .most = always,
                    .meaning = "percentage of iterations that use the buffer of the previous one"}},
    .quantities = quantities,
    .metrics = metrics,
    .base = "reuse=100",
    .figure = {.section = section, .pictures = pictures}};
const Registration registration{&reuse};

}  // namespace
}  // namespace fabricbench::micro
