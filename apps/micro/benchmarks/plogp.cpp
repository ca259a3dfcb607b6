// SPDX-License-Identifier: Apache-2.0
//
// plogp: the parameters of P-LogP (Kielmann, Bal, Verstoep 2000; Rashti and Afsahi 2007,
// section 6.3) at size m.
//
// round_trip_us: m bytes to the responder, 0 bytes back.
//
// send_overhead_us, o_s(m): the duration of MPI_Send in this round trip.
//
// receive_overhead_us, o_r(m): the duration of MPI_Recv for a message of m bytes that has arrived:
// after its request the initiator waits 1.2 times a round trip, without a call to MPI.
//
// flood_us: n messages of m bytes in a row and an answer of 0 bytes.
// g(m) = (flood - round trip) / (n - 1).
//
// L = RTT(0) / 2 - g(0) and LogGP's L, o, g, G follow from these.
#include "micro/benchmarks/rank_pair.hpp"
#include "timing/clock.hpp"
#include "timing/median.hpp"

namespace fabricbench::micro {
namespace {

constexpr int flood_messages = 32;
constexpr int pilot_round_trips = 8;
constexpr double wait_factor = 1.2;

class RoundTrip : public RankPairPart {
 public:
  using RankPairPart::RankPairPart;
  void run() override {
    if (initiates_) {
      send(point_.msg_size);
      receive(0);
    } else {
      receive(point_.msg_size);
      send(0);
    }
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    return initiates_ ? std::nullopt : RankPairPart::verify(iteration);
  }
  Traffic moved() const override {
    return pairs() * Traffic{.messages = 2, .bytes = point_.msg_size};
  }
};

class SendOverhead final : public RoundTrip {
 public:
  using RoundTrip::RoundTrip;
  void run() override {
    if (initiates_) {
      send(point_.msg_size);
    } else {
      receive(point_.msg_size);
    }
  }
  void after() override {
    if (initiates_) {
      receive(0);
    } else {
      send(0);
    }
  }
};

class ReceiveOverhead final : public RankPairPart {
 public:
  using RankPairPart::RankPairPart;

  /// Measures the duration of a round trip, the median of several.
  int enter(const Point& point) override {
    RankPairPart::enter(point);
    wait_ns_ = 0;
    const std::int64_t round_trip_ns = timing::median_duration_ns<pilot_round_trips>([this] {
      before();
      run();
    });
    wait_ns_ = static_cast<std::int64_t>(wait_factor * static_cast<double>(round_trip_ns));
    return MPI_SUCCESS;
  }
  void before() override {
    if (!initiates_) {
      receive(0);
      return;
    }
    send(0);
    const std::int64_t end = timing::now_ns() + wait_ns_;
    while (timing::now_ns() < end) {
    }
  }
  void run() override {
    if (initiates_) {
      receive(point_.msg_size);
    } else {
      send(point_.msg_size);
    }
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    return initiates_ ? RankPairPart::verify(iteration) : std::nullopt;
  }
  Traffic moved() const override {
    return pairs() * Traffic{.messages = 2, .bytes = point_.msg_size};
  }
  Traffic moved_around() const override { return pilot_round_trips * moved(); }

 private:
  std::int64_t wait_ns_ = 0;
};

class Flood final : public RankPairPart {
 public:
  using RankPairPart::RankPairPart;
  void run() override {
    for (int i = 0; i < flood_messages; ++i) {
      if (initiates_) {
        send(point_.msg_size);
      } else {
        receive(point_.msg_size);
      }
    }
    if (initiates_) {
      receive(0);
    } else {
      send(0);
    }
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    return initiates_ ? std::nullopt : RankPairPart::verify(iteration);
  }
  Traffic moved() const override {
    return pairs() *
           Traffic{.messages = 2, .bytes = std::int64_t{flood_messages} * point_.msg_size};
  }
  Traffic carried() const override {
    return std::int64_t{pairs()} * flood_messages *
           Traffic{.messages = 1, .bytes = point_.msg_size};
  }
};

constexpr Quantity quantities[]{
    {.metric = "round_trip_us", .set_up = make_part<RoundTrip>},
    {.metric = "send_overhead_us", .set_up = make_part<SendOverhead>},
    {.metric = "receive_overhead_us", .set_up = make_part<ReceiveOverhead>},
    {.metric = "flood_us", .set_up = make_part<Flood>, .fewer_iterations = 8}};

constexpr Metric metrics[]{{.name = "round_trip"},
                           {.name = "send_overhead"},
                           {.name = "receive_overhead"},
                           {.name = "gap"}};
constexpr Section section{
    .key = "plogp",
    .title = "P-LogP and LogGP",
    .note =
        "Overheads of sender and receiver and the gap between messages (Rashti 2007, "
        "figure 5). The table has LogGP's parameters: L, o and g of the smallest message; G "
        "by protocol, from the slopes of the gap.",
    .place = 3};
constexpr Picture pictures[]{
    {.metric = "send_overhead"}, {.metric = "receive_overhead"}, {.metric = "gap"}};

const Benchmark plogp{.name = "plogp",
                      .summary =
                          "P-LogP: overheads of sender and receiver, gap, round trip; adds sizes "
                          "where the round trip bends",
                      .quantities = quantities,
                      .adaptive = true,
                      .metrics = metrics,
                      .figure = {.section = section, .pictures = pictures}};
const Registration registration{&plogp};

}  // namespace
}  // namespace fabricbench::micro
