// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "micro/benchmark.hpp"
#include "micro/buffer.hpp"
#include "micro/msg_sizes.hpp"
#include "micro/setting.hpp"

namespace fabricbench::micro {

/// The tag of every measured message.
inline constexpr int measured_tag = 1;

/// The common part of benchmarks with rank pairs: rank i initiates and rank i + n/2 responds, all
/// n/2 pairs at the same time. Each direction has one buffer, which every iteration uses.
class RankPairPart : public Part {
 public:
  /// Allocates `slots` messages of the largest size in each direction. Throws UsageError and
  /// std::bad_alloc.
  explicit RankPairPart(const Setting& setting, std::int64_t slots = 1)
      : setting_(setting),
        initiates_(setting.world.rank < setting.world.ranks / 2),
        peer_(setting.world.rank + (initiates_ ? 1 : -1) * (setting.world.ranks / 2)),
        send_(capacity(slots, setting.largest_size)),
        receive_(capacity(slots, setting.largest_size)) {}

  int enter(const Point& point) override {
    point_ = point;
    return MPI_SUCCESS;
  }
  void fill(std::int64_t iteration) override {
    fill_pattern(outgoing(), message(setting_.world.rank, iteration));
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    return find_mismatch(incoming(), message(peer_, iteration));
  }
  std::span<std::uint8_t> outgoing() override { return send_.first(size()); }

 protected:
  [[nodiscard]] std::span<std::uint8_t> incoming() const { return receive_.first(size()); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(point_.msg_size); }
  /// The number of rank pairs that communicate at the same time.
  [[nodiscard]] virtual int pairs() const { return setting_.world.ranks / 2; }
  [[nodiscard]] MessageId message(int sender, std::int64_t iteration) const {
    return {.sender = sender, .msg_size_bytes = point_.msg_size, .iteration = iteration};
  }

  /// One message to the peer or from it: the first `bytes` bytes of the buffer.
  void send(int bytes) const {
    MPI_Send(send_.data(), bytes, MPI_BYTE, peer_, measured_tag, setting_.world.comm);
  }
  void receive(int bytes) const {
    MPI_Recv(receive_.data(), bytes, MPI_BYTE, peer_, measured_tag, setting_.world.comm,
             MPI_STATUS_IGNORE);
  }

  Setting setting_;
  bool initiates_;
  int peer_;
  Point point_;
  Buffer send_;
  Buffer receive_;
};

}  // namespace fabricbench::micro
