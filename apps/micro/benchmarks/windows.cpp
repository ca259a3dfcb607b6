// SPDX-License-Identifier: Apache-2.0
//
// Windows of non-blocking messages (paper 000, section 6.2; OSU's osu_bw and osu_bibw):
//   unidirectional  the initiator sends a window, the responder answers it with an empty message
//   bidirectional   both send a window at once, receives posted first
//   bothway         both send a window at once, sends posted first
// Reported by the initiator: the time of one window.
#include <vector>

#include "micro/benchmarks/all.hpp"
#include "micro/benchmarks/pair.hpp"

namespace fabricbench::micro {
namespace {

/// As in other tools all messages of a window share one buffer, so that only the last one could be
/// verified; the checked mode gives each its own.
class Window : public PairPart {
 public:
  explicit Window(const Setting& setting)
      : PairPart(setting, setting.checked ? setting.largest_amount : 1),
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
    // Back to back messages may share a packet; the answer to the window, or the other window, may
    // not.
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
    // An odd factor: the pattern repeats after 256.
    return iteration * static_cast<std::int64_t>(slots() | 1U) + static_cast<std::int64_t>(slot);
  }

  std::vector<MPI_Request> requests_;
};

class Unidirectional final : public Window {
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

class Bidirectional final : public Window {
 public:
  using Window::Window;
  void run() override {
    post_receives(0);
    post_sends(window());
    wait(2 * window());
  }
};

class BothWay final : public Window {
 public:
  using Window::Window;
  void run() override {
    post_sends(0);
    post_receives(window());
    wait(2 * window());
  }
};

constexpr std::int64_t one_window[]{64};
constexpr Dimensions dimensions{
    .choice = {}, .amount = {.key = "window", .defaults = one_window, .least = 1, .most = 65536}};
constexpr std::int64_t fewer = 10;

constexpr Quantity one_way[]{
    {.metric = "window_us", .set_up = make_part<Unidirectional>, .fewer_iterations = fewer}};
constexpr Quantity receives_first[]{
    {.metric = "window_us", .set_up = make_part<Bidirectional>, .fewer_iterations = fewer}};
constexpr Quantity sends_first[]{
    {.metric = "window_us", .set_up = make_part<BothWay>, .fewer_iterations = fewer}};

}  // namespace

const Benchmark unidirectional{
    .name = "unidirectional",
    .summary = "windows of non-blocking sends one way, each acknowledged; bandwidth, message rate",
    .dimensions = dimensions,
    .quantities = one_way};

const Benchmark bidirectional{
    .name = "bidirectional",
    .summary = "windows both ways at once, receives posted first; bandwidth, message rate",
    .dimensions = dimensions,
    .quantities = receives_first};

const Benchmark bothway{
    .name = "bothway",
    .summary = "windows both ways at once, sends posted first; bandwidth, message rate",
    .dimensions = dimensions,
    .quantities = sends_first};

}  // namespace fabricbench::micro
