// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "check.hpp"
#include "common/memory_limit.hpp"

namespace fs = std::filesystem;
using namespace fabricbench;

namespace {

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// Writes the files of /proc/self of a process in a control group.
void write_proc(const fs::path& top, const std::string& kind, const std::string& group) {
  write(top / "proc/mountinfo",
        "30 29 0:27 / " + (top / "mount").string() + " rw - " + kind + "\n");
  write(top / "proc/cgroup", "9:name=systemd:/other\n" + group + "\n");
}

void test_version_2(const fs::path& top) {
  write_proc(top, "cgroup2 cgroup2 rw", "0::/job/step");
  write(top / "mount/job/memory.max", "1000\n");
  write(top / "mount/job/memory.current", "700\n");
  write(top / "mount/job/memory.stat", "anon 400\ninactive_file 200\n");
  write(top / "mount/job/step/memory.max", "max\n");
  const MemoryLimit least = memory_limit(top / "proc");
  CHECK(least.limit == 1000);
  CHECK(least.available == 500);
}

void test_version_1(const fs::path& top) {
  write_proc(top, "cgroup cgroup rw,memory", "4:cpu,memory:/job");
  write(top / "mount/memory.limit_in_bytes", "9223372036854771712\n");
  write(top / "mount/job/memory.limit_in_bytes", "2000\n");
  write(top / "mount/job/memory.usage_in_bytes", "2500\n");
  const MemoryLimit least = memory_limit(top / "proc");
  CHECK(least.limit == 2000);
  CHECK(least.available == 0);
}

void test_slurm(const fs::path& top) {
  setenv("SLURM_MEM_PER_NODE", "3", 1);
  CHECK(memory_limit(top / "missing").limit == 3 * 1048576);
  setenv("SLURM_MEM_PER_NODE", "0", 1);
  CHECK(memory_limit(top / "missing").limit == no_memory_limit);
  unsetenv("SLURM_MEM_PER_NODE");
  setenv("SLURM_MEM_PER_CPU", "2", 1);
  setenv("SLURM_CPUS_ON_NODE", "4", 1);
  CHECK(memory_limit(top / "missing").available == 8 * 1048576);
}

}  // namespace

int main() {
  for (const char* name : {"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"})
    unsetenv(name);
  const fs::path top = fs::temp_directory_path() / ("memory_limit." + std::to_string(getpid()));
  test_version_2(top / "two");
  test_version_1(top / "one");
  test_slurm(top);
  fs::remove_all(top);
  return check::result();
}
