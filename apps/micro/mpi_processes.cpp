// SPDX-License-Identifier: Apache-2.0
#include "micro/mpi_processes.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>

#include "micro/benchmark.hpp"

namespace fabricbench::micro {
namespace {

constexpr int samples_tag = 2;

}  // namespace

void MpiProcesses::synchronise() {
  MPI_Barrier(world_.comm);
}

std::int64_t MpiProcesses::largest(std::int64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MAX, world_.comm);
  return value;
}

int MpiProcesses::common_error(int error) {
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_INT, MPI_MAX, world_.comm);
  return error;
}

std::string MpiProcesses::error_text(int error) const {
  if (error == error_stuck) return "the stack accepts no further unexpected messages";
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  std::string line(text.data(), static_cast<std::size_t>(length));
  std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

std::span<std::int64_t> MpiProcesses::fetch(int from, std::span<std::int64_t> own,
                                            std::span<std::int64_t> received) {
  const int count = static_cast<int>(own.size());
  if (from == rank() && !prints())
    MPI_Send(own.data(), count, MPI_INT64_T, printing_rank(), samples_tag, world_.comm);
  if (!prints()) return {};
  if (from == rank()) return own;
  MPI_Recv(received.data(), count, MPI_INT64_T, from, samples_tag, world_.comm, MPI_STATUS_IGNORE);
  return received;
}

}  // namespace fabricbench::micro
