// SPDX-License-Identifier: Apache-2.0
#pragma once

// The time of matching with long queues (Rashti and Afsahi 2007, section 6.5): the common part of
// unexpected.cpp and posted.cpp. The initiator reports half of the round trip of a ping-pong.
//
// The k queued messages or receives all have the same tag, except the last one (equal), or a
// different tag each (different), or a different tag each while the receive of the ping-pong
// accepts any tag (wildcard).
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "common/usage_error.hpp"
#include "micro/benchmarks/rank_pair.hpp"
#include "timing/clock.hpp"

namespace fabricbench::micro {

enum Tags : std::size_t { equal, different, wildcard };
inline constexpr std::string_view meaning_of_tags = "tags of the queued messages or receives";
inline constexpr int first_queued_tag = 16;
inline constexpr int queued_bytes = 8;
inline constexpr std::int64_t most_queued = 1 << 20;
inline constexpr std::int64_t point_step = 101;  // prime, so that the bytes of each point differ
inline constexpr std::int64_t patience_ns = 10'000'000'000;
inline constexpr std::int64_t least_tag_bound =
    32767 - first_queued_tag;  // what the standard promises

using Queued = std::array<std::uint8_t, queued_bytes>;

/// The common part: a communicator whose calls return their errors, k small messages to each rank,
/// and their payload.
class QueuePart : public RankPairPart {
 public:
  QueuePart(const Setting& setting, std::int64_t slots) : RankPairPart(setting, slots) {
    MPI_Comm_dup(setting.world.comm, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    check_tags();
    const auto most = static_cast<std::size_t>(setting.largest_amount);
    sent_.resize(most);
    received_.resize(most);
    send_requests_.reserve(most);
    receive_requests_.reserve(most);
  }
  ~QueuePart() override { MPI_Comm_free(&comm_); }

  std::optional<Mismatch> verify_around() override { return wrong_; }
  Traffic moved() const override {
    return 2 * pairs() * Traffic{.messages = 1, .bytes = point_.msg_size};
  }
  Traffic moved_around() const override {
    return 2 * pairs() *
           Traffic{.messages = queued() > 0 ? 1 : 0, .bytes = queued() * queued_bytes};
  }
  double values_per_run() const override { return 2.0; }

 protected:
  [[nodiscard]] std::int64_t queued() const { return point_.amount; }
  /// The tag of message i. The last message always has a unique tag, so that a receive can match
  /// it.
  [[nodiscard]] int tag(std::int64_t i) const {
    const bool alike = point_.choice == equal && i < queued() - 1;
    return first_queued_tag + (alike ? 0 : static_cast<int>(i));
  }

  /// Starts a point: each point has different payloads. enter() calls this first.
  void next_point(const Point& point) {
    RankPairPart::enter(point);
    point_number_ += point_step;
  }
  /// Starts sends of queued messages to the peer: all of them, at most `limit`, or until the stack
  /// refuses one.
  int start_sends(std::int64_t limit) {
    send_requests_.clear();
    return start(limit, send_requests_, [this](std::int64_t i, MPI_Request* request) {
      Queued& payload = sent_[static_cast<std::size_t>(i)];
      fill_pattern(payload, queued_message(setting_.world.rank, i));
      return MPI_Isend(payload.data(), queued_bytes, MPI_BYTE, peer_, tag(i), comm_, request);
    });
  }
  /// Starts receives of queued messages, with the same limits.
  int start_receives(std::int64_t limit) {
    receive_requests_.clear();
    std::fill(received_.begin(), received_.end(), Queued{});
    return start(limit, receive_requests_, [this](std::int64_t i, MPI_Request* request) {
      return MPI_Irecv(received_[static_cast<std::size_t>(i)].data(), queued_bytes, MPI_BYTE, peer_,
                       tag(i), comm_, request);
    });
  }
  [[nodiscard]] std::int64_t sends() const { return std::ssize(send_requests_); }
  [[nodiscard]] std::int64_t receives() const { return std::ssize(receive_requests_); }

  /// Exchanges counts with the peer. Nothing if the peer does not answer in time.
  [[nodiscard]] std::optional<std::int64_t> exchange_in_time(std::int64_t mine) {
    mine_ = mine;
    MPI_Irecv(&theirs_, 1, MPI_INT64_T, peer_, measured_tag, setting_.world.comm,
              &count_requests_[0]);
    MPI_Isend(&mine_, 1, MPI_INT64_T, peer_, measured_tag, setting_.world.comm,
              &count_requests_[1]);
    const std::int64_t deadline = timing::now_ns() + patience_ns;
    int arrived = 0;
    do {
      MPI_Testall(2, count_requests_.data(), &arrived, MPI_STATUSES_IGNORE);
    } while (arrived == 0 && timing::now_ns() < deadline);
    return arrived != 0 ? std::optional(theirs_) : std::nullopt;
  }
  /// Completes an exchange_in_time() that returned nothing.
  [[nodiscard]] std::int64_t exchanged_late() {
    MPI_Waitall(2, count_requests_.data(), MPI_STATUSES_IGNORE);
    return theirs_;
  }
  /// Exchanges counts with the peer, which also synchronises both.
  [[nodiscard]] std::int64_t exchange(std::int64_t mine) const {
    std::int64_t theirs = 0;
    MPI_Sendrecv(&mine, 1, MPI_INT64_T, peer_, measured_tag, &theirs, 1, MPI_INT64_T, peer_,
                 measured_tag, setting_.world.comm, MPI_STATUS_IGNORE);
    return theirs;
  }
  /// Takes back the receives of messages that the peer did not send.
  void cancel_receives_from(std::int64_t first) {
    for (std::int64_t i = first; i < receives(); ++i) {
      MPI_Request& request = receive_requests_[static_cast<std::size_t>(i)];
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    receive_requests_.resize(static_cast<std::size_t>(std::min(first, receives())));
  }
  /// Ends what start_sends() and start_receives() began, once the peer has done its part.
  void wait_for_queued() {
    wait(send_requests_);
    wait(receive_requests_);
    for (std::int64_t i = 0; i < receives() && !wrong_; ++i) {
      wrong_ = find_mismatch(received_[static_cast<std::size_t>(i)], queued_message(peer_, i));
    }
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::optional<Mismatch> wrong_;  ///< in a queued message
  std::int64_t point_number_ = 0;

 private:
  void check_tags() const {
    int* bound = nullptr;
    int known = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &known);
    const std::int64_t tags = known != 0 ? *bound - first_queued_tag : least_tag_bound;
    if (setting_.largest_amount > tags) {
      throw UsageError("--queued: " + std::to_string(setting_.largest_amount) +
                       " need more tags than this stack has; give at most " + std::to_string(tags));
    }
  }
  template <class Start>
  int start(std::int64_t limit, std::vector<MPI_Request>& requests, Start start_one) {
    const bool injected = setting_.fault.kind == Fault::Kind::exhaust;
    for (std::int64_t i = 0; i < limit; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      const bool full = injected && i >= setting_.fault.count;
      const int error = full ? MPI_ERR_NO_MEM : start_one(i, &request);
      if (error != MPI_SUCCESS) return error;
      requests.push_back(request);
    }
    return MPI_SUCCESS;
  }
  static void wait(std::vector<MPI_Request>& requests) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  [[nodiscard]] MessageId queued_message(int sender, std::int64_t i) const {
    return {.sender = sender, .msg_size_bytes = queued_bytes, .iteration = point_number_ + i};
  }

  std::int64_t theirs_ = 0;
  std::int64_t mine_ = 0;
  std::array<MPI_Request, 2> count_requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::vector<Queued> sent_;
  std::vector<Queued> received_;
  std::vector<MPI_Request> send_requests_;
  std::vector<MPI_Request> receive_requests_;
};

inline constexpr std::int64_t queue_lengths[]{0, 1, 4, 16, 64, 256, 1024, 4096};
inline constexpr Amount queue{.key = "queued",
                              .defaults = queue_lengths,
                              .least = 0,
                              .most = most_queued,
                              .meaning = "length of the queue"};
inline constexpr Metric queue_metrics[]{{.name = "latency"}, {.name = "latency_ratio"}};
inline constexpr Section queue_section{
    .key = "queues",
    .title = "Message queues",
    .note =
        "Latency with a queue divided by latency without one (Rashti 2007, figures 7 and 8). One "
        "figure shows all sizes for a queue of 1024 unexpected messages or 1024 posted receives "
        "that do not match; the other shows 8 bytes for each queue length.",
    .place = 5};
inline constexpr std::int64_t queue_drawn_sizes[]{8};
inline constexpr Picture queue_pictures[]{
    {.metric = "latency_ratio", .only = "queued=1024"},
    {.metric = "latency_ratio", .over = "queued", .sizes = queue_drawn_sizes}};
inline constexpr Figure queue_figure{.section = queue_section, .pictures = queue_pictures};

/// Returns the record of a benchmark of a queue, whose `words` are the kinds of tags.
constexpr Benchmark queue_record(std::string_view name, std::string_view summary,
                                 std::span<const std::string_view> words,
                                 std::span<const Quantity> quantities) {
  return {.name = name,
          .summary = summary,
          .dimensions = {.choice = {.key = "tags", .words = words, .meaning = meaning_of_tags},
                         .amount = queue},
          .quantities = quantities,
          .metrics = queue_metrics,
          .base = "queued=0",
          .figure = queue_figure};
}

}  // namespace fabricbench::micro
