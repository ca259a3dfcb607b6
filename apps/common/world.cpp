// SPDX-License-Identifier: Apache-2.0
#include "common/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "common/usage_error.hpp"

namespace fabricbench {

World mpi_world() {
  World world{.comm = MPI_COMM_WORLD, .rank = 0, .ranks = 0};
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.ranks);
  return world;
}

bool started_by_launcher() {
  constexpr const char* names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
  return std::any_of(std::begin(names), std::end(names),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

void check_expected_ranks(const World& world) {
  const char* const expected = std::getenv("FABRICBENCH_EXPECT_RANKS");
  const std::string ranks = std::to_string(world.ranks);
  if (expected == nullptr || ranks == expected) return;
  const std::string head = "FABRICBENCH_EXPECT_RANKS: " + std::string(expected) +
                           " ranks are expected, MPI_COMM_WORLD has " + ranks + "; ";
  if (world.ranks > 1) throw UsageError(head + "correct one of them");
  throw UsageError(head + "the launcher started " + expected +
                   " single processes: wrong PMI; use the launcher of this MPI library (" +
                   mpi_library() + ")");
}

std::string gather_hosts(const World& world) {
  constexpr std::size_t width = MPI_MAX_PROCESSOR_NAME;
  std::vector<char> name(width, '\0');
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  std::vector<char> names(world.rank == 0 ? width * static_cast<std::size_t>(world.ranks) : 0);
  MPI_Gather(name.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME,
             MPI_CHAR, 0, world.comm);
  std::string hosts;
  for (std::size_t start = 0; start < names.size(); start += width) {
    const std::string_view field(names.data() + start, width);
    if (start > 0) hosts += ',';
    hosts += field.substr(0, field.find('\0'));
  }
  return hosts;
}

int most_ranks_of_a_node(const World& world) {
  const std::string hosts = gather_hosts(world);
  std::map<std::string_view, int> ranks;
  int most = 1;
  std::string_view rest = hosts;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    most = std::max(most, ++ranks[rest.substr(0, comma)]);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  MPI_Bcast(&most, 1, MPI_INT, 0, world.comm);
  return most;
}

std::string mpi_library() {
  std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING + 1, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data());
  std::string line;
  for (const char c : all.substr(0, all.find_first_of("\r\n"))) {
    const bool blank = static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string mpi_standard() {
  int version = 0;
  int subversion = 0;
  MPI_Get_version(&version, &subversion);
  return std::to_string(version) + '.' + std::to_string(subversion);
}

}  // namespace fabricbench
