// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/world.hpp"
#include "micro/processes.hpp"

namespace fabricbench::micro {

/// The ranks of an MPI communicator. Rank 0 prints.
class MpiProcesses final : public Processes {
 public:
  explicit MpiProcesses(const World& world)
      : Processes(world.rank, world.ranks, 0), world_(world) {}

  void synchronise() override;
  std::int64_t largest(std::int64_t value) override;
  int common_error(int error) override;
  std::string error_text(int error) const override;
  std::span<std::int64_t> fetch(int from, std::span<std::int64_t> own,
                                std::span<std::int64_t> received) override;

 private:
  const World world_;
};

}  // namespace fabricbench::micro
