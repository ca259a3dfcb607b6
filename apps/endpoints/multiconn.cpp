// SPDX-License-Identifier: Apache-2.0
#include "endpoints/multiconn.hpp"

#include "micro/msg_sizes.hpp"
#include "micro/multiconn.hpp"

namespace fabricbench::endpoints {
namespace {

/// The common part of both quantities. The client reports.
class ConnectionsPart : public micro::Part {
 public:
  explicit ConnectionsPart(ClientServer& processes) : processes_(processes) {}

  std::vector<micro::Reporter> reporters() const override {
    return {{.rank = ClientServer::client_rank, .words = {}}};
  }
  int enter(const micro::Point& point) override {
    point_ = point;
    const int error = processes_.open(static_cast<std::size_t>(point.amount));
    if (error == 0) connections().use_size(static_cast<std::size_t>(point.msg_size));
    return error;
  }
  void fill(std::int64_t iteration) override { connections().fill(iteration); }
  std::optional<micro::Mismatch> verify(std::int64_t iteration) override {
    return connections().verify(iteration);
  }
  std::span<std::uint8_t> outgoing() override { return connections().outgoing(); }

 protected:
  [[nodiscard]] Connections& connections() const { return processes_.connections(); }
  /// `messages` each way on each connection.
  [[nodiscard]] micro::Traffic both_ways(std::int64_t messages) const {
    return 2 * point_.amount * messages * micro::Traffic{.messages = 1, .bytes = point_.msg_size};
  }
  /// Messages that follow each other on a connection may share a packet, so one of them counts.
  [[nodiscard]] micro::Traffic least_traffic(std::int64_t messages) const {
    return {.messages = 2 * point_.amount, .bytes = both_ways(messages).bytes};
  }

  micro::Point point_;

 private:
  ClientServer& processes_;
};

class NormalisedLatency final : public ConnectionsPart {
 public:
  using ConnectionsPart::ConnectionsPart;
  void run() override { connections().round(); }
  micro::Traffic moved() const override { return least_traffic(1); }
  double values_per_run() const override { return 2.0 * static_cast<double>(point_.amount); }
};

class Throughput final : public ConnectionsPart {
 public:
  using ConnectionsPart::ConnectionsPart;
  void run() override { connections().window(); }
  micro::Traffic moved() const override { return least_traffic(micro::messages_per_connection); }
  micro::Traffic carried() const override { return both_ways(micro::messages_per_connection); }
};

constexpr micro::Quantity quantities[]{micro::normalised_latency, micro::connection_window};

}  // namespace

constinit const micro::Benchmark multiconn = [] {
  micro::Benchmark record = micro::multiconn_record(quantities);
  record.reporters = micro::Reporters::named;
  record.order = micro::Order::by_amount;  // unused open endpoints slow down the others
  record.synchronisation =
      "an empty message each way before each size; warm-up and timed iterations follow it "
      "without another";
  return record;
}();

Buffers make_buffers(const micro::Options& options) {
  const std::int64_t size = micro::largest_of(options.sizes_bytes);
  const std::int64_t slots = options.check ? micro::largest_of(options.amounts) : 1;
  static_cast<void>(micro::capacity(2 * (1 + slots), size));
  return {.send = micro::Buffer(micro::capacity(1, size)),
          .receive = micro::Buffer(micro::capacity(slots, size)),
          .largest_size = static_cast<std::size_t>(size),
          .checked = options.check};
}

std::vector<std::unique_ptr<micro::Part>> make_parts(ClientServer& processes) {
  std::vector<std::unique_ptr<micro::Part>> parts;
  parts.push_back(std::make_unique<NormalisedLatency>(processes));
  parts.push_back(std::make_unique<Throughput>(processes));
  return parts;
}

}  // namespace fabricbench::endpoints
