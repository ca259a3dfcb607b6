// SPDX-License-Identifier: Apache-2.0
//
// Computation during a transfer (Rashti and Afsahi 2007, section 6; the method of Sandia's SMB), at
// the sender or at the receiver, which is rank i of each rank pair.
//
// base_us: the transfer alone: start and wait. A sender also waits for an answer, which shows that
// the message has arrived. A receiver first sends a request, so that the message comes after the
// receive is posted.
//
// worked_us (overlap): the transfer with computation of the same duration between start and wait.
// silent_us (progress): with computation of four times the duration, without calls to MPI.
// tested_us (progress): the same, with up to 16 calls of MPI_Test spread over the computation.
//
// The analysis computes the hidden share of the computation or of the transfer. The peer waits
// inside MPI. From 50 us on, computation is measured in processor time of the thread, so that
// background work of MPI prolongs it.
#include <algorithm>
#include <limits>

#include "micro/benchmarks/rank_pair.hpp"
#include "timing/clock.hpp"
#include "timing/median.hpp"

namespace fabricbench::micro {
namespace {

enum Side : std::size_t { sender, receiver };
constexpr std::string_view words[]{"sender", "receiver"};

constexpr int pilot_transfers = 8;
constexpr std::int64_t most_pieces = 16;  ///< of the computation; a call follows each
constexpr std::int64_t least_piece_ns = 1'000;
constexpr std::int64_t brief_ns = 50'000;

enum class Calls { none, tests };

/// A transfer during computation of `factor` times the duration of the transfer.
template <int factor, Calls calls>
class Transfer final : public RankPairPart {
 public:
  using RankPairPart::RankPairPart;

  /// Measures the duration of the transfer, the maximum over all ranks, and then the duration of
  /// the computation alone. All rank pairs compute for the same time.
  int enter(const Point& point) override {
    RankPairPart::enter(point);
    target_ns_ = work_ns_ = 0;
    if constexpr (factor > 0) {
      const std::int64_t mine = factor *
                                timing::median_duration_ns<pilot_transfers>([this] { run(); }) *
                                (initiates_ ? 1 : 0);
      MPI_Allreduce(&mine, &target_ns_, 1, MPI_INT64_T, MPI_MAX, setting_.world.comm);
      if (initiates_) work_ns_ = timing::median_duration_ns<pilot_transfers>([this] { work(); });
    }
    return MPI_SUCCESS;
  }

  void run() override {
    if (!initiates_) {
      serve();
    } else if (point_.choice == sender) {
      MPI_Isend(send_.data(), point_.msg_size, MPI_BYTE, peer_, measured_tag, setting_.world.comm,
                &request_);
      work();
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
      receive(0);
    } else {
      MPI_Irecv(receive_.data(), point_.msg_size, MPI_BYTE, peer_, measured_tag,
                setting_.world.comm, &request_);
      send(0);
      work();
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    const bool takes = initiates_ == (point_.choice == receiver);
    return takes ? RankPairPart::verify(iteration) : std::nullopt;
  }
  Traffic moved() const override {
    return pairs() * Traffic{.messages = 2, .bytes = point_.msg_size};
  }
  Traffic moved_around() const override { return (factor > 0 ? pilot_transfers : 0) * moved(); }
  std::int64_t work_ns() const override { return work_ns_; }

 private:
  void serve() {
    if (point_.choice == sender) {
      receive(point_.msg_size);
      send(0);
    } else {
      receive(0);
      send(point_.msg_size);
    }
  }
  /// Computes for `target_ns_`, in pieces with a call of MPI_Test after each.
  void work() {
    if (target_ns_ == 0) return;
    // Reading the processor time of a thread needs a system call, which is too slow for short
    // pieces.
    if (target_ns_ < brief_ns) {
      work_by(timing::now_ns);
    } else {
      work_by(timing::thread_cpu_ns);
    }
  }
  template <class Clock>
  void work_by(Clock clock) {
    const std::int64_t pieces =
        calls == Calls::tests
            ? std::clamp<std::int64_t>(target_ns_ / least_piece_ns, 1, most_pieces)
            : 1;
    const std::int64_t start = clock();
    for (std::int64_t piece = 1; piece <= pieces; ++piece) {
      const std::int64_t end = start + target_ns_ * piece / pieces;
      while (clock() < end) {
      }
      if constexpr (calls == Calls::tests) {
        int done = 0;
        if (request_ != MPI_REQUEST_NULL) MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
      }
    }
  }

  std::int64_t target_ns_ = 0;
  std::int64_t work_ns_ = 0;  ///< duration of the computation of target_ns_ alone
  MPI_Request request_ = MPI_REQUEST_NULL;
};

constexpr Dimensions dimensions{
    .choice = {.key = "side", .words = words, .meaning = "rank that computes"}, .amount = {}};

constexpr Quantity beside_as_much[]{
    {.metric = "base_us", .set_up = make_part<Transfer<0, Calls::none>>},
    {.metric = "worked_us", .set_up = make_part<Transfer<1, Calls::none>>}};

constexpr Quantity beside_much[]{
    {.metric = "base_us", .set_up = make_part<Transfer<0, Calls::none>>},
    {.metric = "silent_us", .set_up = make_part<Transfer<4, Calls::none>>, .fewer_iterations = 4},
    {.metric = "tested_us", .set_up = make_part<Transfer<4, Calls::tests>>, .fewer_iterations = 4}};

constexpr Metric share_hidden[]{{.name = "overlap"}};
constexpr Section section{
    .key = "overlap",
    .title = "Overlap and progress",
    .note =
        "The time saved by computing during a transfer, divided by the shorter of the two "
        "durations: 1 means that it is fully hidden, 0 that nothing is. The benchmark overlap "
        "computes for the duration of the transfer; progress computes four times as long, once "
        "without MPI calls and once with calls of MPI_Test.",
    .place = 7};
constexpr Picture overlap_pictures[]{{.metric = "overlap"}};
constexpr Metric share_progressed[]{{.name = "progress"}, {.name = "progress_tested"}};
constexpr Picture progress_pictures[]{{.metric = "progress"}, {.metric = "progress_tested"}};

const Benchmark overlap{.name = "overlap",
                        .summary = "computation hidden behind a transfer, at sender and receiver",
                        .dimensions = dimensions,
                        .quantities = beside_as_much,
                        .metrics = share_hidden,
                        .figure = {.section = section, .pictures = overlap_pictures}};

const Benchmark progress{
    .name = "progress",
    .summary =
        "progress of a transfer during a long computation, without MPI calls and with MPI_Test",
    .dimensions = dimensions,
    .quantities = beside_much,
    .metrics = share_progressed,
    .figure = {.section = section, .pictures = progress_pictures}};
const Registration registration{&overlap, &progress};

}  // namespace
}  // namespace fabricbench::micro
