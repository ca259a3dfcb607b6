// SPDX-License-Identifier: Apache-2.0
//
// pingpong: rank i sends msg_size bytes to rank i + n/2 (blocking MPI_Send), which receives them
// (MPI_Recv) and sends as many back. All n/2 pairs do so at the same time. Reported by the rank
// that sends first: half of the round trip in microseconds. The two directions carry different
// payloads in separate buffers; every iteration uses the same buffers.
#include <mpi.h>

#include "micro/benchmark.hpp"

namespace fabricbench::micro {
namespace {

constexpr int tag = 1;

int pairs(int ranks) {
  return ranks / 2;
}

std::string rank_error(int ranks) {
  if (ranks >= 2 && ranks % 2 == 0) return {};
  return "pingpong: MPI_COMM_WORLD has " + std::to_string(ranks) +
         (ranks == 1 ? " rank" : " ranks") +
         "; expected an even number, 2 or more (ranks i and i+n/2 are a pair); start it with -n 2";
}

std::string case_name(int ranks) {
  return ranks == 2 ? "" : "pairs=" + std::to_string(pairs(ranks));
}

Exchange set_up(const World& world, std::int64_t largest_size) {
  const int half = pairs(world.ranks);
  const bool initiates = world.rank < half;
  const auto capacity = static_cast<std::size_t>(largest_size);
  return {.world = world,
          .peer = initiates ? world.rank + half : world.rank - half,
          .initiates = initiates,
          .msg_size = 0,
          .send = Buffer(capacity),
          .receive = Buffer(capacity)};
}

void run(const Exchange& x) {
  if (x.initiates) {
    MPI_Send(x.send.data(), x.msg_size, MPI_BYTE, x.peer, tag, x.world.comm);
    MPI_Recv(x.receive.data(), x.msg_size, MPI_BYTE, x.peer, tag, x.world.comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(x.receive.data(), x.msg_size, MPI_BYTE, x.peer, tag, x.world.comm, MPI_STATUS_IGNORE);
    MPI_Send(x.send.data(), x.msg_size, MPI_BYTE, x.peer, tag, x.world.comm);
  }
}

void fill(const Exchange& x, std::int64_t iteration) {
  fill_pattern(x.send.first(static_cast<std::size_t>(x.msg_size)),
               {.sender = x.world.rank, .msg_size_bytes = x.msg_size, .iteration = iteration});
}

std::optional<Mismatch> verify(const Exchange& x, std::int64_t iteration) {
  return find_mismatch(x.receive.first(static_cast<std::size_t>(x.msg_size)),
                       {.sender = x.peer, .msg_size_bytes = x.msg_size, .iteration = iteration});
}

Traffic moved(int ranks, std::int64_t msg_size) {
  return {.messages = ranks, .bytes = ranks * msg_size};
}

}  // namespace

const Benchmark pingpong{
    .name = "pingpong",
    .summary =
        "blocking send and receive between two ranks; half round trip; 2n ranks: n pairs at once",
    .metric = "latency_us",
    .values_per_run = 2,
    .rank_error = rank_error,
    .reporting_ranks = pairs,
    .case_name = case_name,
    .set_up = set_up,
    .run = run,
    .fill = fill,
    .verify = verify,
    .moved = moved};

}  // namespace fabricbench::micro
