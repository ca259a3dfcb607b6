// SPDX-License-Identifier: Apache-2.0
//
// hotspot: all ranks send to the last rank, the hot rank (Rashti and Afsahi 2007, section 6).
// Latency: all senders have a ping-pong with the hot rank at the same time. Bandwidth: every sender
// sends a window of messages; the hot rank answers after all windows. Every sender reports.
#include <vector>

#include "micro/benchmark.hpp"
#include "micro/buffer.hpp"
#include "micro/msg_sizes.hpp"
#include "micro/setting.hpp"

namespace fabricbench::micro {
namespace {

constexpr int tag = 1;
constexpr int window = 16;

class Hotspot : public Part {
 public:
  explicit Hotspot(const Setting& setting)
      : world_(setting.world),
        hot_(setting.world.ranks - 1),
        send_(capacity(1, setting.largest_size)),
        receive_(capacity(is_hot() ? senders() : 1, setting.largest_size)) {}

  int enter(const Point& point) override {
    msg_size_ = point.msg_size;
    return MPI_SUCCESS;
  }
  void fill(std::int64_t iteration) override {
    fill_pattern(outgoing(), message(world_.rank, iteration));
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    std::optional<Mismatch> wrong;
    for (int from = 0; from < senders() && is_hot() && !wrong; ++from) {
      wrong = find_mismatch(from_sender(from), message(from, iteration));
    }
    return wrong;
  }
  std::span<std::uint8_t> outgoing() override {
    return send_.first(static_cast<std::size_t>(msg_size_));
  }

 protected:
  [[nodiscard]] bool is_hot() const { return world_.rank == hot_; }
  [[nodiscard]] int senders() const { return world_.ranks - 1; }
  [[nodiscard]] MessageId message(int sender, std::int64_t iteration) const {
    return {.sender = sender, .msg_size_bytes = msg_size_, .iteration = iteration};
  }
  /// The hot rank's buffer for the messages of a sender.
  [[nodiscard]] std::span<std::uint8_t> from_sender(int sender) const {
    const auto size = static_cast<std::size_t>(msg_size_);
    return {receive_.data() + static_cast<std::size_t>(sender) * size, size};
  }
  void receive_from(int rank, void* to, int bytes) const {
    MPI_Recv(to, bytes, MPI_BYTE, rank, tag, world_.comm, MPI_STATUS_IGNORE);
  }
  void send_to(int rank, int bytes) const {
    MPI_Send(send_.data(), bytes, MPI_BYTE, rank, tag, world_.comm);
  }

  World world_;
  int hot_;
  int msg_size_ = 0;
  Buffer send_;
  Buffer receive_;
};

class Latency final : public Hotspot {
 public:
  using Hotspot::Hotspot;
  /// The hot rank answers messages in the order of their arrival.
  void run() override {
    if (!is_hot()) {
      send_to(hot_, msg_size_);
      receive_from(hot_, receive_.data(), msg_size_);
      return;
    }
    for (int i = 0; i < senders(); ++i) {
      MPI_Status status{};
      MPI_Probe(MPI_ANY_SOURCE, tag, world_.comm, &status);
      receive_from(status.MPI_SOURCE, from_sender(status.MPI_SOURCE).data(), msg_size_);
      send_to(status.MPI_SOURCE, msg_size_);
    }
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    if (is_hot()) return Hotspot::verify(iteration);
    return find_mismatch(receive_.first(static_cast<std::size_t>(msg_size_)),
                         message(hot_, iteration));
  }
  /// Synchronises, because a fast sender may already send the payload of the next iteration.
  void settle() override { MPI_Barrier(world_.comm); }
  Traffic moved() const override {
    return 2 * senders() * Traffic{.messages = 1, .bytes = msg_size_};
  }
  double values_per_run() const override { return 2.0; }
};

class Bandwidth final : public Hotspot {
 public:
  explicit Bandwidth(const Setting& setting)
      : Hotspot(setting), requests_(static_cast<std::size_t>(window * setting.world.ranks)) {}
  void run() override {
    if (!is_hot()) {
      for (int i = 0; i < window; ++i) {
        MPI_Isend(send_.data(), msg_size_, MPI_BYTE, hot_, tag, world_.comm,
                  &requests_[static_cast<std::size_t>(i)]);
      }
      MPI_Waitall(window, requests_.data(), MPI_STATUSES_IGNORE);
      receive_from(hot_, receive_.data(), 0);
      return;
    }
    std::size_t started = 0;
    for (int i = 0; i < window; ++i) {
      for (int rank = 0; rank < senders(); ++rank) {
        MPI_Irecv(from_sender(rank).data(), msg_size_, MPI_BYTE, rank, tag, world_.comm,
                  &requests_[started++]);
      }
    }
    MPI_Waitall(static_cast<int>(started), requests_.data(), MPI_STATUSES_IGNORE);
    for (int rank = 0; rank < senders(); ++rank) send_to(rank, 0);
  }
  Traffic moved() const override {
    return senders() * Traffic{.messages = 2, .bytes = std::int64_t{window} * msg_size_};
  }
  Traffic carried() const override {
    return std::int64_t{senders()} * window * Traffic{.messages = 1, .bytes = msg_size_};
  }

 private:
  std::vector<MPI_Request> requests_;
};

constexpr Dimensions dimensions{.choice = {}, .amount = {}};
constexpr Quantity quantities[]{
    {.metric = "latency_us", .set_up = make_part<Latency>},
    {.metric = "window_us", .set_up = make_part<Bandwidth>, .fewer_iterations = 5}};

constexpr Metric metrics[]{{.name = "latency"},
                           {.name = "message_rate"},
                           {.name = "bandwidth", .bandwidth = true},
                           {.name = "bandwidth_mean", .bandwidth = true}};
constexpr Section section{.key = "hotspot",
                          .title = "Hot spot",
                          .note = "All ranks send to one rank at once.",
                          .place = 8};
constexpr Picture pictures[]{{.metric = "latency"}, {.metric = "bandwidth"}};

const Benchmark hotspot{.name = "hotspot",
                        .summary = "all ranks to one at once; latency, and bandwidth into it",
                        .ranks = Ranks::two_or_more,
                        .reporters = Reporters::all_but_last,
                        .dimensions = dimensions,
                        .quantities = quantities,
                        .metrics = metrics,
                        .figure = {.section = section, .pictures = pictures}};
const Registration registration{&hotspot};

}  // namespace
}  // namespace fabricbench::micro
