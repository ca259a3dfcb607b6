// SPDX-License-Identifier: Apache-2.0
//
// Blocking collectives over all ranks. An untimed barrier precedes each call. Every rank reports
// the time of its call. msg_size is defined as in IMB and OSU: the whole vector of a reduction
// or broadcast, else the block per rank or rank pair. The root is rank 0. Reductions add floats.
#include <algorithm>
#include <cstring>

#include "micro/benchmark.hpp"
#include "micro/buffer.hpp"
#include "micro/msg_sizes.hpp"
#include "micro/setting.hpp"

namespace fabricbench::micro {
namespace {

constexpr int root = 0;
constexpr int float_bytes = sizeof(float);

class Collective : public Part {
 public:
  /// Room for `sent` and `received` blocks of msg_size. Throws std::bad_alloc.
  Collective(const Setting& setting, int sent, int received)
      : world_(setting.world),
        send_(capacity(sent, setting.largest_size)),
        receive_(capacity(received, setting.largest_size)) {}

  int enter(const Point& point) override {
    msg_size_ = point.msg_size;
    return MPI_SUCCESS;
  }
  void before() override { MPI_Barrier(world_.comm); }
  std::span<std::uint8_t> outgoing() override { return block(send_, 0); }
  /// The barrier's message may travel with the collective's.
  Traffic moved() const override {
    const Traffic own = delivered();
    return {.messages = std::max(own.messages, heard_), .bytes = own.bytes};
  }
  std::int64_t barriers() const override { return 1; }
  Traffic moved_beside_barriers() const override { return delivered(); }

 protected:
  /// The least that any algorithm delivers to the ranks that need it.
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
  void fill_block(int index, std::int64_t iteration) const {
    fill_pattern(block(send_, index), message(world_.rank, index, iteration));
  }
  [[nodiscard]] std::optional<Mismatch> check(int index, int sender, int sent_block,
                                              std::int64_t iteration) const {
    auto wrong = find_mismatch(block(receive_, index), message(sender, sent_block, iteration));
    if (wrong) wrong->message.sender = sender;
    return wrong;
  }
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

class Barrier final : public Collective {
 public:
  explicit Barrier(const Setting& setting) : Collective(setting, 0, 0) {}
  void run() override { MPI_Barrier(world_.comm); }
  void fill(std::int64_t /*iteration*/) override {}
  std::optional<Mismatch> verify(std::int64_t /*iteration*/) override { return {}; }
  /// The barriers are the measurement itself.
  std::int64_t barriers() const override { return 0; }

 protected:
  /// Two barriers one after the other.
  Traffic delivered() const override {
    return {.messages = ranks() > 1 ? 2 * ranks() : 0, .bytes = 0};
  }
};

class Bcast final : public Collective {
 public:
  explicit Bcast(const Setting& setting) : Collective(setting, 1, 1) {}
  void run() override {
    MPI_Bcast(is_root() ? send_.data() : receive_.data(), msg_size_, MPI_BYTE, root, world_.comm);
  }
  void fill(std::int64_t iteration) override {
    if (is_root()) fill_block(0, iteration);
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    return is_root() ? std::nullopt : check(0, root, 0, iteration);
  }

 protected:
  Traffic delivered() const override {
    return unless_empty((ranks() - 1) * Traffic{.messages = 1, .bytes = msg_size_});
  }
};

/// A block of every rank is collected on the root or on all ranks.
template <bool everywhere>
class Gathering final : public Collective {
 public:
  explicit Gathering(const Setting& setting) : Collective(setting, 1, setting.world.ranks) {}
  void run() override {
    if constexpr (everywhere) {
      MPI_Allgather(send_.data(), msg_size_, MPI_BYTE, receive_.data(), msg_size_, MPI_BYTE,
                    world_.comm);
    } else {
      MPI_Gather(send_.data(), msg_size_, MPI_BYTE, receive_.data(), msg_size_, MPI_BYTE, root,
                 world_.comm);
    }
  }
  void fill(std::int64_t iteration) override { fill_block(0, iteration); }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    std::optional<Mismatch> wrong;
    for (int rank = 0; rank < world_.ranks && !wrong && (everywhere || is_root()); ++rank) {
      wrong = check(rank, rank, 0, iteration);
    }
    return wrong;
  }

 protected:
  Traffic delivered() const override {
    const std::int64_t receivers = everywhere ? ranks() : 1;
    // Several blocks may travel in one message, so each rank needs at least one.
    return unless_empty({.messages = everywhere ? ranks() : ranks() - 1,
                         .bytes = receivers * (ranks() - 1) * msg_size_});
  }
};

/// The root, or every rank, has a block for each other rank.
template <bool everywhere>
class Scattering final : public Collective {
 public:
  explicit Scattering(const Setting& setting)
      : Collective(setting, setting.world.ranks, everywhere ? setting.world.ranks : 1) {}
  void run() override {
    if constexpr (everywhere) {
      MPI_Alltoall(send_.data(), msg_size_, MPI_BYTE, receive_.data(), msg_size_, MPI_BYTE,
                   world_.comm);
    } else {
      MPI_Scatter(send_.data(), msg_size_, MPI_BYTE, receive_.data(), msg_size_, MPI_BYTE, root,
                  world_.comm);
    }
  }
  void fill(std::int64_t iteration) override {
    for (int index = 0; index < world_.ranks && (everywhere || is_root()); ++index) {
      fill_block(index, iteration);
    }
  }
  std::span<std::uint8_t> outgoing() override { return block(send_, world_.ranks - 1); }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    if constexpr (!everywhere) return check(0, root, world_.rank, iteration);
    std::optional<Mismatch> wrong;
    for (int rank = 0; rank < world_.ranks && !wrong; ++rank) {
      wrong = check(rank, rank, world_.rank, iteration);
    }
    return wrong;
  }

 protected:
  Traffic delivered() const override {
    const std::int64_t senders = everywhere ? ranks() : 1;
    return unless_empty({.messages = everywhere ? ranks() : ranks() - 1,
                         .bytes = senders * (ranks() - 1) * msg_size_});
  }
};

enum class Result { on_root, everywhere, scattered };

/// Sums of floats: on the root, everywhere, or a block of them on each rank.
template <Result result>
class Reduction final : public Collective {
 public:
  explicit Reduction(const Setting& setting) : Collective(setting, blocks(setting.world), 1) {}
  void run() override {
    const int count = msg_size_ / float_bytes;
    if constexpr (result == Result::on_root) {
      MPI_Reduce(send_.data(), receive_.data(), count, MPI_FLOAT, MPI_SUM, root, world_.comm);
    } else if constexpr (result == Result::everywhere) {
      MPI_Allreduce(send_.data(), receive_.data(), count, MPI_FLOAT, MPI_SUM, world_.comm);
    } else {
      MPI_Reduce_scatter_block(send_.data(), receive_.data(), count, MPI_FLOAT, MPI_SUM,
                               world_.comm);
    }
  }
  void fill(std::int64_t iteration) override {
    for (int index = 0; index < blocks(world_); ++index) {
      const std::span<std::uint8_t> bytes = block(send_, index);
      for (std::size_t i = 0; i * float_bytes < bytes.size(); ++i) {
        const float value = term(world_.rank, index, iteration, i);
        std::memcpy(&bytes[i * float_bytes], &value, float_bytes);
      }
    }
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    if (result == Result::on_root && !is_root()) return {};
    const int index = result == Result::scattered ? world_.rank : 0;
    const std::span<const std::uint8_t> bytes = block(receive_, 0);
    for (std::size_t i = 0; i * float_bytes < bytes.size(); ++i) {
      float sum = 0.0F;
      for (int rank = 0; rank < world_.ranks; ++rank) sum += term(rank, index, iteration, i);
      std::uint8_t expected[float_bytes];
      std::memcpy(expected, &sum, float_bytes);
      for (std::size_t byte = 0; byte < float_bytes; ++byte) {
        const std::size_t offset = i * float_bytes + byte;
        if (bytes[offset] == expected[byte]) continue;
        return Mismatch{.message = message(root, 0, iteration),
                        .offset = offset,
                        .expected = expected[byte],
                        .found = bytes[offset]};
      }
    }
    return {};
  }

 protected:
  Traffic delivered() const override {
    // Each rank with a result receives at least one message of its size; the root receives every
    // other rank's part or partial sums.
    const std::int64_t messages = result == Result::on_root ? ranks() - 1 : ranks();
    return unless_empty(ranks() > 1 ? messages * Traffic{.messages = 1, .bytes = msg_size_}
                                    : Traffic{});
  }

 private:
  static int blocks(const World& world) { return result == Result::scattered ? world.ranks : 1; }
  /// Small whole numbers, whose sum does not depend on the order of the additions.
  float term(int rank, int index, std::int64_t iteration, std::size_t i) const {
    return static_cast<float>(pattern_byte(message(rank, index, iteration), i));
  }
};

constexpr std::string_view between = "MPI_Barrier before every call, not timed";
constexpr Dimensions bytes{.choice = {}, .amount = {}};
constexpr Dimensions floats{.choice = {}, .amount = {}, .sized = true, .size_unit = float_bytes};
constexpr Dimensions unsized{.choice = {}, .amount = {}, .sized = false};

template <class P>
constexpr Quantity calls[]{{.metric = "call_us", .set_up = make_part<P>}};

constexpr Metric metrics[]{{.name = "time"}, {.name = "time_min"}, {.name = "time_max"}};
constexpr Picture pictures[]{{.metric = "time"}};

constexpr Held one_and_one_per_rank{.messages = 1, .per_rank = 1};
constexpr Section section{
    .key = "collectives",
    .title = "Collectives, own",
    .note = "Mean over ranks of each rank's median, a barrier before every call.",
    .place = 9};
constexpr Held two{.messages = 2};
constexpr Held two_per_rank{.per_rank = 2};

template <class P>
constexpr Benchmark collective(std::string_view name, std::string_view summary,
                               const Dimensions& dimensions, const Held& held = {}) {
  return {.name = name,
          .summary = summary,
          .ranks = Ranks::two_or_more,
          .reporters = Reporters::all,
          .dimensions = dimensions,
          .quantities = calls<P>,
          .synchronisation = between,
          .metrics = metrics,
          .figure = {.section = section,
                     .pictures = dimensions.sized ? std::span<const Picture>(pictures)
                                                  : std::span<const Picture>()},
          .held = held};
}

const Benchmark allgather = collective<Gathering<true>>(
    "allgather", "MPI_Allgather, size per rank; every rank's time", bytes, one_and_one_per_rank);
const Benchmark allreduce = collective<Reduction<Result::everywhere>>(
    "allreduce", "MPI_Allreduce, sum of floats; every rank's time", floats, two);
const Benchmark alltoall = collective<Scattering<true>>(
    "alltoall", "MPI_Alltoall, size per pair of ranks; every rank's time", bytes, two_per_rank);
const Benchmark barrier = collective<Barrier>("barrier", "MPI_Barrier; every rank's time", unsized);
const Benchmark bcast =
    collective<Bcast>("bcast", "MPI_Bcast from rank 0; every rank's time", bytes, two);
const Benchmark gather =
    collective<Gathering<false>>("gather", "MPI_Gather to rank 0, size per rank; every rank's time",
                                 bytes, one_and_one_per_rank);
const Benchmark reduce = collective<Reduction<Result::on_root>>(
    "reduce", "MPI_Reduce to rank 0, sum of floats; every rank's time", floats, two);
const Benchmark reduce_scatter = collective<Reduction<Result::scattered>>(
    "reduce_scatter", "MPI_Reduce_scatter_block, sum of floats, size per rank; every rank's time",
    floats, one_and_one_per_rank);
const Benchmark scatter = collective<Scattering<false>>(
    "scatter", "MPI_Scatter from rank 0, size per rank; every rank's time", bytes,
    one_and_one_per_rank);
const Registration registration{&allgather, &allreduce, &alltoall,       &barrier, &bcast,
                                &gather,    &reduce,    &reduce_scatter, &scatter};

}  // namespace
}  // namespace fabricbench::micro
