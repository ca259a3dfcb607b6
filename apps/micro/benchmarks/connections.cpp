// SPDX-License-Identifier: Apache-2.0
//
// multiconn: k connections of each rank pair at once (Rashti and Afsahi 2007, section 5.1). Each
// connection is a communicator. With several rank pairs the connections of a rank alternate between
// its peers. Normalised latency: half of the time of a ping-pong on all connections in parallel,
// divided by their number. Throughput: both sides send messages round robin over the connections.
// The initiator reports.
#include <vector>

#include "micro/benchmarks/rank_pair.hpp"
#include "micro/multiconn.hpp"

namespace fabricbench::micro {
namespace {

/// The connections of one rank. Their receives share one buffer, as in windows; in checked mode
/// each connection has its own.
class Connections : public RankPairPart {
 public:
  explicit Connections(const Setting& setting)
      : RankPairPart(setting, setting.checked ? setting.largest_amount : setting.world.ranks / 2) {
    const int half = pairs();
    const int place = setting.world.rank % half;
    for (int i = 0; i < setting.largest_amount; ++i) {
      if (i % half == 0) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(setting.world.comm, &comm);
        comms_.push_back(comm);
      }
      // Initiator p and responder (p + i) mod n share connection i.
      const int partner = initiates_ ? half + (place + i) % half : (place - i % half + half) % half;
      ends_.push_back({.comm = comms_.back(), .peer = partner});
    }
    requests_.resize(2 * messages_per_connection * ends_.size());
  }
  ~Connections() override {
    for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  }

  std::optional<Mismatch> verify(std::int64_t iteration) override {
    std::optional<Mismatch> wrong;
    for (std::size_t i = 0; i < ends().size() && !wrong; ++i) {
      wrong = find_mismatch(incoming_at(i), message(ends_[i].peer, iteration));
    }
    return wrong;
  }

 protected:
  /// One end of a connection.
  struct End {
    MPI_Comm comm;
    int peer;
  };
  [[nodiscard]] std::span<const End> ends() const {
    return std::span(ends_).first(static_cast<std::size_t>(point_.amount));
  }
  [[nodiscard]] std::span<std::uint8_t> incoming_at(std::size_t connection) const {
    return {receive_.data() + slot(connection) * size(), size()};
  }
  /// The index of the buffer: one for each connection in checked mode, else one for each peer.
  [[nodiscard]] std::size_t slot(std::size_t connection) const {
    return setting_.checked ? connection : connection % static_cast<std::size_t>(pairs());
  }
  void start_send(const End& end) {
    MPI_Isend(send_.data(), point_.msg_size, MPI_BYTE, end.peer, measured_tag, end.comm,
              &requests_[started_++]);
  }
  void start_receive(std::size_t connection) {
    const End& end = ends_[connection];
    MPI_Irecv(incoming_at(connection).data(), point_.msg_size, MPI_BYTE, end.peer, measured_tag,
              end.comm, &requests_[started_++]);
  }
  void wait() {
    MPI_Waitall(static_cast<int>(started_), requests_.data(), MPI_STATUSES_IGNORE);
    started_ = 0;
  }

 private:
  std::vector<MPI_Comm> comms_;
  std::vector<End> ends_;
  std::vector<MPI_Request> requests_;
  std::size_t started_ = 0;
};

class NormalisedLatency final : public Connections {
 public:
  using Connections::Connections;
  void run() override {
    if (initiates_) {
      for (std::size_t i = 0; i < ends().size(); ++i) start_receive(i);
      for (const End& end : ends()) start_send(end);
      wait();
      return;
    }
    for (std::size_t i = 0; i < ends().size(); ++i) {
      MPI_Recv(incoming_at(i).data(), point_.msg_size, MPI_BYTE, ends()[i].peer, measured_tag,
               ends()[i].comm, MPI_STATUS_IGNORE);
      start_send(ends()[i]);
    }
    wait();
  }
  Traffic moved() const override {
    return 2 * pairs() * Traffic{.messages = 1, .bytes = point_.amount * point_.msg_size};
  }
  double values_per_run() const override { return 2.0 * static_cast<double>(point_.amount); }
};

class Throughput final : public Connections {
 public:
  using Connections::Connections;
  void run() override {
    for (int round = 0; round < messages_per_connection; ++round) {
      for (std::size_t i = 0; i < ends().size(); ++i) start_receive(i);
    }
    for (int round = 0; round < messages_per_connection; ++round) {
      for (const End& end : ends()) start_send(end);
    }
    wait();
  }
  Traffic moved() const override { return {.messages = 2 * pairs(), .bytes = carried().bytes}; }
  Traffic carried() const override {
    return 2 * pairs() * messages_per_connection * point_.amount *
           Traffic{.messages = 1, .bytes = point_.msg_size};
  }
};

/// Returns the quantity with the part that measures it.
template <class P>
constexpr Quantity measured_by(Quantity quantity) {
  quantity.set_up = make_part<P>;
  return quantity;
}

constexpr Quantity quantities[]{measured_by<NormalisedLatency>(normalised_latency),
                                measured_by<Throughput>(connection_window)};

constexpr Metric metrics[]{{.name = "normalised_latency"},
                           {.name = "message_rate"},
                           {.name = "bandwidth", .bandwidth = true},
                           {.name = "bandwidth_mean", .bandwidth = true}};
constexpr std::int64_t drawn_sizes[]{1, 512, 32768};
constexpr Section section{
    .key = "multiconn",
    .title = "Many connections",
    .note =
        "One rank pair communicates over many connections at once (Rashti 2007, figure 2). "
        "Latency: half of the round trip over all connections, divided by their number. "
        "Throughput: both directions together. A connection is a communicator on MPI stacks, a "
        "pair of endpoints on libfabric.",
    .place = 6};
constexpr Picture pictures[]{
    {.metric = "normalised_latency", .over = "connections", .sizes = drawn_sizes},
    {.metric = "bandwidth", .over = "connections", .sizes = drawn_sizes}};

constexpr Benchmark multiconn = [] {
  Benchmark record = multiconn_record(quantities);
  record.metrics = metrics;
  record.figure = {.section = section, .pictures = pictures};
  return record;
}();
const Registration registration{&multiconn};

}  // namespace
}  // namespace fabricbench::micro
