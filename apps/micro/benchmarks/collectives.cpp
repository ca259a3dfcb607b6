// SPDX-License-Identifier: Apache-2.0
//
// The barrier and the collectives that move blocks of bytes.
#include "micro/benchmarks/collective.hpp"

namespace fabricbench::micro {
namespace {

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

/// Collects a block of each rank on the root, or on all ranks.
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

/// Sends a different block to each rank, from the root or from all ranks.
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

constexpr Dimensions bytes{.choice = {}, .amount = {}};
constexpr Dimensions unsized{.choice = {}, .amount = {}, .sized = false};
constexpr Held two_per_rank{.per_rank = 2};

const Benchmark allgather = collective<Gathering<true>>(
    "allgather", "MPI_Allgather, size per rank; every rank's time", bytes, one_and_one_per_rank);
const Benchmark alltoall = collective<Scattering<true>>(
    "alltoall", "MPI_Alltoall, size per rank pair; every rank's time", bytes, two_per_rank);
const Benchmark barrier = collective<Barrier>("barrier", "MPI_Barrier; every rank's time", unsized);
const Benchmark bcast =
    collective<Bcast>("bcast", "MPI_Bcast from rank 0; every rank's time", bytes, two);
const Benchmark gather =
    collective<Gathering<false>>("gather", "MPI_Gather to rank 0, size per rank; every rank's time",
                                 bytes, one_and_one_per_rank);
const Benchmark scatter = collective<Scattering<false>>(
    "scatter", "MPI_Scatter from rank 0, size per rank; every rank's time", bytes,
    one_and_one_per_rank);
const Registration registration{&allgather, &alltoall, &barrier, &bcast, &gather, &scatter};

}  // namespace
}  // namespace fabricbench::micro
