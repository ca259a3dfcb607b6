// SPDX-License-Identifier: Apache-2.0
//
// Windows of non-blocking messages (Rashti and Afsahi 2007, section 6.2; OSU's osu_bw and
// osu_bibw):
//   unidirectional  the initiator sends a window, the responder answers with an empty message
//   bidirectional   both send a window at once, receives posted first
//   bothway         both send a window at once, sends posted first
// The initiator reports the time of one window.
#include "micro/benchmarks/windows.hpp"

namespace fabricbench::micro {
namespace {

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
constexpr Dimensions dimensions{.choice = {},
                                .amount = {.key = "window",
                                           .defaults = one_window,
                                           .least = 1,
                                           .most = 65536,
                                           .meaning = "messages in flight"}};
constexpr std::int64_t fewer = 10;

constexpr Quantity one_way[]{
    {.metric = "window_us", .set_up = make_part<Unidirectional>, .fewer_iterations = fewer}};
constexpr Quantity receives_first[]{
    {.metric = "window_us", .set_up = make_part<Bidirectional>, .fewer_iterations = fewer}};
constexpr Quantity sends_first[]{
    {.metric = "window_us", .set_up = make_part<BothWay>, .fewer_iterations = fewer}};

constexpr Metric metrics[]{{.name = "message_rate"},
                           {.name = "bandwidth", .bandwidth = true},
                           {.name = "bandwidth_mean", .bandwidth = true}};
constexpr Section section{
    .key = "windows",
    .title = "Windows of messages",
    .note =
        "64 non-blocking messages at once: one way with an acknowledgement, both ways with "
        "receives posted first, both ways with sends posted first (Rashti 2007, figure 4). "
        "Bandwidth counts both directions.",
    .place = 1};
constexpr Picture windows_of_64[]{{.metric = "bandwidth", .only = "window=64"}};
constexpr Picture windows_of_64_and_1[]{{.metric = "bandwidth", .only = "window=64"},
                                        {.metric = "bandwidth", .only = "window=1"},
                                        {.metric = "message_rate", .only = "window=64"}};

const Benchmark unidirectional{
    .name = "unidirectional",
    .summary = "windows of non-blocking sends one way, each acknowledged; bandwidth, message rate",
    .dimensions = dimensions,
    .quantities = one_way,
    .metrics = metrics,
    .role = "windows_one_way",
    .figure = {.section = section, .pictures = windows_of_64_and_1}};

const Benchmark bidirectional{
    .name = "bidirectional",
    .summary = "windows both ways at once, receives posted first; bandwidth, message rate",
    .dimensions = dimensions,
    .quantities = receives_first,
    .metrics = metrics,
    .role = "windows_both_ways",
    .figure = {.section = section, .pictures = windows_of_64}};

const Benchmark bothway{
    .name = "bothway",
    .summary = "windows both ways at once, sends posted first; bandwidth, message rate",
    .dimensions = dimensions,
    .quantities = sends_first,
    .metrics = metrics,
    .figure = {.section = section, .pictures = windows_of_64}};
const Registration registration{&unidirectional, &bidirectional, &bothway};

}  // namespace
}  // namespace fabricbench::micro
