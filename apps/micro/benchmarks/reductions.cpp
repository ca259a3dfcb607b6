// SPDX-License-Identifier: Apache-2.0
//
// The collectives that add floats.
#include <cstring>

#include "micro/benchmarks/collective.hpp"

namespace fabricbench::micro {
namespace {

constexpr int float_bytes = sizeof(float);

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

constexpr Dimensions floats{.choice = {}, .amount = {}, .sized = true, .size_unit = float_bytes};

const Benchmark allreduce = collective<Reduction<Result::everywhere>>(
    "allreduce", "MPI_Allreduce, sum of floats; every rank's time", floats, two);
const Benchmark reduce = collective<Reduction<Result::on_root>>(
    "reduce", "MPI_Reduce to rank 0, sum of floats; every rank's time", floats, two);
const Benchmark reduce_scatter = collective<Reduction<Result::scattered>>(
    "reduce_scatter", "MPI_Reduce_scatter_block, sum of floats, size per rank; every rank's time",
    floats, one_and_one_per_rank);
const Registration registration{&allreduce, &reduce, &reduce_scatter};

}  // namespace
}  // namespace fabricbench::micro
