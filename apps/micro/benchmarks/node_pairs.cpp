// SPDX-License-Identifier: Apache-2.0
//
// Measures every rank pair, with one rank on each node, in rounds. The pairs of a round are
// disjoint.
//   pair_latency    ping-pong, one rank pair after the other
//   pair_bandwidth  windows from one rank to the other, then back; alone: one rank pair after the
//                   other; at-once: all rank pairs of a round, with a barrier before every window
//                   (effective bisection bandwidth of Hoefler, Schneider, Lumsdaine 2008)
// Each sender reports, in a case that names the rank pair and its round.
#include <algorithm>
#include <set>
#include <string_view>

#include "micro/benchmarks/pingpong.hpp"
#include "micro/benchmarks/windows.hpp"
#include "micro/tournament.hpp"

namespace fabricbench::micro {
namespace {

/// Returns the names of all ranks' nodes, on every rank. Replaces characters that a case may not
/// contain. Adds the number of the rank if the node has several ranks.
std::vector<std::string> rank_names(const World& world) {
  std::string hosts = gather_hosts(world);
  int length = static_cast<int>(hosts.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, world.comm);
  hosts.resize(static_cast<std::size_t>(length));
  MPI_Bcast(hosts.data(), length, MPI_CHAR, 0, world.comm);
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(",._-").find(c) != std::string_view::npos;
  };
  std::replace_if(hosts.begin(), hosts.end(), [&](char c) { return !allowed(c); }, '_');

  std::vector<std::string> names;
  std::multiset<std::string> counted;
  for (std::size_t start = 0; names.size() < static_cast<std::size_t>(world.ranks);) {
    const std::size_t comma = hosts.find(',', start);
    names.push_back(hosts.substr(start, comma - start));
    counted.insert(names.back());
    start = comma + 1;
  }
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    if (counted.count(names[rank]) > 1) names[rank].append(".").append(std::to_string(rank));
  }
  return names;
}

/// Measures the part `Together` for one rank pair after the other, or for all rank pairs of a round
/// at once. Every rank pair has `directions` turns; in the second the higher rank initiates.
template <class Together, int directions>
class InTurns final : public Together {
 public:
  explicit InTurns(const Setting& setting)
      : Together(setting),
        tournament_(setting.world.ranks),
        rounds_(tournament_.rounds_of_block(setting.rounds, setting.block)),
        names_(rank_names(setting.world)) {}

  Words facts() const override {
    std::string rounds;
    for (const int round : rounds_) {
      rounds.append(rounds.empty() ? "" : ",").append(std::to_string(round));
    }
    return {{"pairs_per_round", std::to_string(tournament_.pairs())},
            {"directions", std::to_string(directions)},
            {"rounds", rounds}};
  }
  std::int64_t turns(const Point& point) const override {
    const auto rounds = static_cast<std::int64_t>(rounds_.size());
    return directions * rounds * (at_once(point) ? 1 : tournament_.pairs());
  }
  std::vector<Reporter> reporters() const override {
    std::vector<Reporter> all;
    for (const Ends& pair : playing_) {
      all.push_back({.rank = pair.from,
                     .words = {{"from", names_[static_cast<std::size_t>(pair.from)]},
                               {"to", names_[static_cast<std::size_t>(pair.to)]},
                               {"round", std::to_string(round_)}}});
    }
    return all;
  }

  int enter(const Point& point) override {
    choose(point);
    plays_ = false;
    for (const Ends& pair : playing_) {
      const int self = this->setting_.world.rank;
      if (self != pair.from && self != pair.to) continue;
      plays_ = true;
      this->initiates_ = self == pair.from;
      this->peer_ = this->initiates_ ? pair.to : pair.from;
    }
    return Together::enter(point);
  }
  void before() override {
    if (at_once(this->point_)) MPI_Barrier(this->setting_.world.comm);
  }
  void run() override {
    if (plays_) Together::run();
  }
  void fill(std::int64_t iteration) override {
    if (plays_) Together::fill(iteration);
  }
  std::optional<Mismatch> verify(std::int64_t iteration) override {
    return plays_ ? Together::verify(iteration) : std::nullopt;
  }
  std::span<std::uint8_t> outgoing() override {
    return plays_ ? Together::outgoing() : std::span<std::uint8_t>{};
  }
  /// The traffic of one rank pair, because each case has one.
  Traffic carried() const override {
    const Traffic all = Together::carried();
    return {.messages = all.messages / pairs(), .bytes = all.bytes / pairs()};
  }

 protected:
  int pairs() const override { return static_cast<int>(playing_.size()); }

 private:
  struct Ends {
    int from;
    int to;
  };

  [[nodiscard]] static bool at_once(const Point& point) { return point.choice == 1; }

  /// Selects the rank pairs of the point's turn. With `turn` the direction varies fastest, then the
  /// rank pair of a round.
  void choose(const Point& point) {
    const auto turn = static_cast<std::size_t>(point.turn);
    const bool forth = turn % directions == 0;
    const std::size_t place = turn / directions;
    const auto pairs = static_cast<std::size_t>(tournament_.pairs());
    round_ = rounds_[at_once(point) ? place : place / pairs];
    const std::vector<Tournament::Pair> all = tournament_.round(round_);
    playing_.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [lower, higher] = all[i];
      if (at_once(point) || i == place % pairs)
        playing_.push_back(forth ? Ends{lower, higher} : Ends{higher, lower});
    }
  }

  Tournament tournament_;
  std::vector<int> rounds_;
  std::vector<std::string> names_;  ///< by rank
  std::vector<Ends> playing_;
  int round_ = 0;
  bool plays_ = false;
};

constexpr std::string_view concurrency[]{"alone", "at-once"};
constexpr std::int64_t window[]{4};
constexpr Quantity one_pair_after_the_other[]{
    {.metric = "latency_us", .set_up = make_part<InTurns<PingPong, 1>>}};
constexpr Quantity one_way[]{{.metric = "window_us",
                              .set_up = make_part<InTurns<Unidirectional, 2>>,
                              .fewer_iterations = 10}};
constexpr std::string_view synchronisation =
    "MPI_Allreduce and MPI_Barrier before each pair; of pairs at once MPI_Barrier before each "
    "window";

constexpr Metric latency_metrics[]{{.name = "latency"}, {.name = "latency_max"}};
constexpr Metric bandwidth_metrics[]{{.name = "bandwidth", .bandwidth = true},
                                     {.name = "bandwidth_min", .bandwidth = true},
                                     {.name = "bisection_bandwidth", .bandwidth = true},
                                     {.name = "bisection_bandwidth_min", .bandwidth = true}};

const Benchmark pair_latency{.name = "pair_latency",
                             .summary = "ping-pong of every rank pair, one after the other",
                             .ranks = Ranks::two_or_more,
                             .reporters = Reporters::named,
                             .dimensions = {.choice = {}, .amount = {}, .rounds = true},
                             .quantities = one_pair_after_the_other,
                             .synchronisation = synchronisation,
                             .metrics = latency_metrics};

const Benchmark pair_bandwidth{
    .name = "pair_bandwidth",
    .summary = "windows in every rank pair, alone and with disjoint rank pairs at once; bisection",
    .ranks = Ranks::two_or_more,
    .reporters = Reporters::named,
    .dimensions = {.choice = {.key = "concurrency",
                              .words = concurrency,
                              .meaning = "one rank pair after the other, or all of a round"},
                   .amount = {.key = "window",
                              .defaults = window,
                              .least = 1,
                              .most = 65536,
                              .meaning = "messages in flight"},
                   .rounds = true},
    .quantities = one_way,
    .synchronisation = synchronisation,
    .metrics = bandwidth_metrics};
const Registration registration{&pair_latency, &pair_bandwidth};

}  // namespace
}  // namespace fabricbench::micro
