// SPDX-License-Identifier: Apache-2.0
//
// put, get: one-sided transfers from the initiator to the responder's memory or back (Narravula et
// al. 2007, section 4.2), with three kinds of synchronisation:
//   lock        the initiator locks (shared) and unlocks; the responder takes no part
//   fence       MPI_Win_fence of all ranks after the transfer
//   post-start  the responder posts and waits, the initiator starts and completes
// The initiator reports the time of one transfer with its synchronisation (latency) and of 64
// transfers with one synchronisation (bandwidth). The MPI window is created by MPI_Win_create over
// ordinary memory.
#include <algorithm>
#include <array>

#include "micro/benchmarks/rank_pair.hpp"

namespace fabricbench::micro {
namespace {

enum Sync : std::size_t { lock, fence, post_start };
constexpr std::string_view words[]{"lock", "fence", "post-start"};

constexpr int transfers_per_window = 64;
/// Up to this many bytes each transfer of a window has its own place in memory.
constexpr std::int64_t places_bytes = 64 << 20;

enum class Operation { put, get };

int places(std::int64_t size, int transfers) {
  return static_cast<int>(
      std::clamp<std::int64_t>(places_bytes / std::max<std::int64_t>(size, 1), 1, transfers));
}

/// The largest size determines the memory: places() of any smaller size need at most
/// `places_bytes`.
std::int64_t slots(const Setting& setting, int transfers) {
  const std::int64_t most = std::max(setting.largest_size, places_bytes);
  return transfers == 1 || setting.largest_size == 0
             ? 1
             : std::min<std::int64_t>(transfers,
                                      (most + setting.largest_size - 1) / setting.largest_size);
}

template <Operation operation, int transfers>
class OneSided final : public RankPairPart {
 public:
  explicit OneSided(const Setting& setting) : RankPairPart(setting, slots(setting, transfers)) {
    const Buffer& exposed = operation == Operation::put ? receive_ : send_;
    MPI_Win_create(exposed.data(),
                   static_cast<MPI_Aint>(slots(setting, transfers)) * setting.largest_size, 1,
                   MPI_INFO_NULL, setting.world.comm, &window_);
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(setting.world.comm, &world);
    MPI_Group_incl(world, 1, &peer_, &peer_group_);
    MPI_Group_free(&world);
  }
  ~OneSided() override {
    MPI_Group_free(&peer_group_);
    MPI_Win_free(&window_);
  }

  int enter(const Point& point) override {
    RankPairPart::enter(point);
    places_ = places(point.msg_size, transfers);
    if (point.choice == fence) MPI_Win_fence(0, window_);
    return MPI_SUCCESS;
  }
  void leave() override {
    if (point_.choice == fence) MPI_Win_fence(MPI_MODE_NOSUCCEED, window_);
  }

  void run() override {
    switch (point_.choice) {
      case lock:
        if (initiates_) {
          MPI_Win_lock(MPI_LOCK_SHARED, peer_, 0, window_);
          transfer();
          MPI_Win_unlock(peer_, window_);
        }
        break;
      case fence:
        if (initiates_) transfer();
        MPI_Win_fence(0, window_);
        break;
      default:
        if (initiates_) {
          MPI_Win_start(peer_group_, 0, window_);
          transfer();
          MPI_Win_complete(window_);
        } else {
          MPI_Win_post(peer_group_, 0, window_);
          MPI_Win_wait(window_);
        }
    }
  }

  void fill(std::int64_t iteration) override {
    for (int i = 0; i < places_ && sends(); ++i) {
      fill_pattern(at(send_, i), message(setting_.world.rank, iteration * (transfers | 1) + i));
    }
  }
  /// A barrier ensures that the other rank has read or written its memory. With sync=lock the
  /// responder takes no part and must lock its own memory before it reads the received bytes.
  void settle() override {
    MPI_Barrier(setting_.world.comm);
    if (point_.choice != lock) return;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, setting_.world.rank, 0, window_);
    MPI_Win_unlock(setting_.world.rank, window_);
    MPI_Barrier(setting_.world.comm);
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    std::optional<Mismatch> wrong;
    for (int i = 0; i < places_ && !sends() && !wrong; ++i) {
      wrong = find_mismatch(at(receive_, i), message(peer_, iteration * (transfers | 1) + i));
    }
    return wrong;
  }
  std::span<std::uint8_t> outgoing() override {
    return sends() ? at(send_, 0) : std::span<std::uint8_t>{};
  }

  Traffic moved() const override {
    // A transfer of 0 bytes may need no message.
    return pairs() * Traffic{.messages = point_.msg_size > 0 ? 1 : 0,
                             .bytes = std::int64_t{transfers} * point_.msg_size};
  }
  Traffic carried() const override {
    if (transfers == 1) return {};
    return std::int64_t{pairs()} * transfers * Traffic{.messages = 1, .bytes = point_.msg_size};
  }

 private:
  /// Whether this rank's memory is the source of the transfers.
  [[nodiscard]] bool sends() const { return initiates_ == (operation == Operation::put); }
  [[nodiscard]] std::span<std::uint8_t> at(const Buffer& buffer, int place) const {
    return {buffer.data() + static_cast<std::size_t>(place) * size(), size()};
  }
  void transfer() {
    for (int i = 0; i < transfers; ++i) {
      const int place = i % places_;
      const auto there = static_cast<MPI_Aint>(place) * point_.msg_size;
      if constexpr (operation == Operation::put) {
        MPI_Put(at(send_, place).data(), point_.msg_size, MPI_BYTE, peer_, there, point_.msg_size,
                MPI_BYTE, window_);
      } else {
        MPI_Get(at(receive_, place).data(), point_.msg_size, MPI_BYTE, peer_, there,
                point_.msg_size, MPI_BYTE, window_);
      }
    }
  }

  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Group peer_group_ = MPI_GROUP_NULL;
  int places_ = 1;
};

constexpr Dimensions dimensions{
    .choice = {.key = "sync", .words = words, .meaning = "synchronisation"}, .amount = {}};

template <Operation operation>
constexpr Quantity quantities[]{
    {.metric = "operation_us", .set_up = make_part<OneSided<operation, 1>>},
    {.metric = "window_us",
     .set_up = make_part<OneSided<operation, transfers_per_window>>,
     .fewer_iterations = 10}};

constexpr Metric metrics[]{{.name = "latency"},
                           {.name = "latency_mean"},
                           {.name = "message_rate"},
                           {.name = "bandwidth", .bandwidth = true},
                           {.name = "bandwidth_mean", .bandwidth = true}};
constexpr Section section{
    .key = "one-sided",
    .title = "One-sided transfers",
    .note =
        "Latency: one transfer and its synchronisation. Bandwidth: 64 transfers and one "
        "synchronisation (Narravula 2007, figure 5).",
    .place = 2};
constexpr Picture pictures[]{{.metric = "latency"}, {.metric = "bandwidth"}};

const Benchmark put{
    .name = "put",
    .summary = "MPI_Put with lock, fence and post-start; latency, and bandwidth of windows",
    .dimensions = dimensions,
    .quantities = quantities<Operation::put>,
    .metrics = metrics,
    .figure = {.section = section, .pictures = pictures}};

const Benchmark get{
    .name = "get",
    .summary = "MPI_Get with lock, fence and post-start; latency, and bandwidth of windows",
    .dimensions = dimensions,
    .quantities = quantities<Operation::get>,
    .metrics = metrics,
    .figure = {.section = section, .pictures = pictures}};
const Registration registration{&put, &get};

}  // namespace
}  // namespace fabricbench::micro
