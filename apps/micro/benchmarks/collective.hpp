// SPDX-License-Identifier: Apache-2.0
//
// Blocking collectives over all ranks. An untimed barrier precedes each call. Every rank reports
// the time of its call. msg_size is defined as in IMB and OSU: the whole vector of a reduction
// or broadcast, else the block per rank or rank pair. The root is rank 0. Reductions add floats.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "micro/benchmark.hpp"
#include "micro/buffer.hpp"
#include "micro/setting.hpp"

namespace fabricbench::micro {

inline constexpr int root = 0;

/// The common part of all collectives: the buffers, and the barrier before each call.
class Collective : public Part {
 public:
  /// Room for `sent` and `received` blocks of msg_size. Throws std::bad_alloc.
  Collective(const Setting& setting, int sent, int received);

  int enter(const Point& point) override {
    msg_size_ = point.msg_size;
    return MPI_SUCCESS;
  }
  void before() override { MPI_Barrier(world_.comm); }
  std::span<std::uint8_t> outgoing() override { return block(send_, 0); }
  /// The barrier's message may travel with the collective's.
  Traffic moved() const override;
  std::int64_t barriers() const override { return 1; }
  Traffic moved_beside_barriers() const override { return delivered(); }

 protected:
  /// Returns the least traffic that any algorithm needs.
  [[nodiscard]] virtual Traffic delivered() const = 0;

  [[nodiscard]] std::span<std::uint8_t> block(const Buffer& buffer, int index) const {
    const auto size = static_cast<std::size_t>(msg_size_);
    return {buffer.data() + static_cast<std::size_t>(index) * size, size};
  }
  /// Identifies the payload of a block: its sender, and its receiver if blocks differ by
  /// receiver.
  [[nodiscard]] MessageId message(int sender, int block, std::int64_t iteration) const {
    return {.sender = sender * world_.ranks + block,
            .msg_size_bytes = msg_size_,
            .iteration = iteration};
  }
  void fill_block(int index, std::int64_t iteration) const;
  /// First wrong byte of the received block `index`, which is the block `sent_block` of `sender`.
  [[nodiscard]] std::optional<Mismatch> check(int index, int sender, int sent_block,
                                              std::int64_t iteration) const;
  [[nodiscard]] std::int64_t ranks() const { return world_.ranks; }
  [[nodiscard]] bool is_root() const { return world_.rank == root; }
  /// A collective of 0 bytes may return without a message.
  [[nodiscard]] Traffic unless_empty(const Traffic& traffic) const {
    return msg_size_ > 0 ? traffic : Traffic{};
  }

  World world_;
  int msg_size_ = 0;
  Buffer send_;
  Buffer receive_;

 private:
  /// In a barrier every rank receives at least one message.
  std::int64_t heard_ = world_.ranks > 1 ? world_.ranks : 0;
};

template <class P>
inline constexpr Quantity collective_calls[]{{.metric = "call_us", .set_up = make_part<P>}};

inline constexpr Metric collective_metrics[]{
    {.name = "time"}, {.name = "time_min"}, {.name = "time_max"}};
inline constexpr Picture collective_pictures[]{{.metric = "time"}};

inline constexpr Section collective_section{
    .key = "collectives",
    .title = "Collectives of the project",
    .note = "Mean over ranks of each rank's median, a barrier before every call.",
    .place = 9};

inline constexpr Held one_and_one_per_rank{.messages = 1, .per_rank = 1};
inline constexpr Held two{.messages = 2};

/// The record of a collective.
template <class P>
constexpr Benchmark collective(std::string_view name, std::string_view summary,
                               const Dimensions& dimensions, const Held& held = {}) {
  return {.name = name,
          .summary = summary,
          .ranks = Ranks::two_or_more,
          .reporters = Reporters::all,
          .dimensions = dimensions,
          .quantities = collective_calls<P>,
          .synchronisation = "MPI_Barrier before every call, not timed",
          .metrics = collective_metrics,
          .figure = {.section = collective_section,
                     .pictures = dimensions.sized ? std::span<const Picture>(collective_pictures)
                                                  : std::span<const Picture>()},
          .held = held};
}

}  // namespace fabricbench::micro
