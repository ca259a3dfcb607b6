// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "micro/benchmarks/rank_pair.hpp"

namespace fabricbench::micro {

/// All messages of a window share one buffer, as in OSU and IMB, so only the last one can be
/// verified. In checked mode each message has its own buffer.
class Window : public RankPairPart {
 public:
  explicit Window(const Setting& setting)
      : RankPairPart(setting, setting.checked ? setting.largest_amount : 1),
        requests_(2 * static_cast<std::size_t>(setting.largest_amount)) {}

  void fill(std::int64_t iteration) override {
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      fill_pattern(at(send_, slot), message(setting_.world.rank, numbered(iteration, slot)));
    }
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    std::optional<Mismatch> wrong;
    for (std::size_t slot = 0; slot < slots() && !wrong && receives(); ++slot) {
      wrong = find_mismatch(at(receive_, slot), message(peer_, numbered(iteration, slot)));
    }
    return wrong;
  }
  Traffic moved() const override {
    // The messages of a window may share a packet. The answer, or the other direction's window,
    // is another message.
    return pairs() *
           Traffic{.messages = 2, .bytes = directions() * point_.amount * point_.msg_size};
  }
  Traffic carried() const override {
    return directions() * pairs() * point_.amount *
           Traffic{.messages = 1, .bytes = point_.msg_size};
  }

 protected:
  [[nodiscard]] virtual int directions() const { return 2; }
  [[nodiscard]] virtual bool receives() const { return true; }

  void post_sends(std::size_t first_request) {
    for (std::size_t i = 0; i < window(); ++i) {
      MPI_Isend(at(send_, i % slots()).data(), point_.msg_size, MPI_BYTE, peer_, measured_tag,
                setting_.world.comm, &requests_[first_request + i]);
    }
  }
  void post_receives(std::size_t first_request) {
    for (std::size_t i = 0; i < window(); ++i) {
      MPI_Irecv(at(receive_, i % slots()).data(), point_.msg_size, MPI_BYTE, peer_, measured_tag,
                setting_.world.comm, &requests_[first_request + i]);
    }
  }
  void wait(std::size_t requests) {
    MPI_Waitall(static_cast<int>(requests), requests_.data(), MPI_STATUSES_IGNORE);
  }
  [[nodiscard]] std::size_t window() const { return static_cast<std::size_t>(point_.amount); }

 private:
  [[nodiscard]] std::size_t slots() const { return setting_.checked ? window() : 1; }
  [[nodiscard]] std::span<std::uint8_t> at(const Buffer& buffer, std::size_t slot) const {
    return {buffer.data() + slot * size(), size()};
  }
  [[nodiscard]] std::int64_t numbered(std::int64_t iteration, std::size_t slot) const {
    // The factor is odd, so that 256 consecutive values differ.
    return iteration * static_cast<std::int64_t>(slots() | 1U) + static_cast<std::int64_t>(slot);
  }

  std::vector<MPI_Request> requests_;
};

/// A window in one direction and an empty message back.
class Unidirectional : public Window {
 public:
  using Window::Window;
  void run() override {
    if (initiates_) {
      post_sends(0);
      wait(window());
      receive(0);
    } else {
      post_receives(0);
      wait(window());
      send(0);
    }
  }

 protected:
  int directions() const override { return 1; }
  bool receives() const override { return !initiates_; }
};

}  // namespace fabricbench::micro
