// SPDX-License-Identifier: Apache-2.0
#include "common/memory_limit.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fabricbench {
namespace {

namespace fs = std::filesystem;

/// Version 1 writes "no limit" as the largest multiple of the page size.
constexpr std::int64_t unlimited = std::int64_t{1} << 60;

/// The names of the files of a version of control groups.
struct Names {
  const char* limit;
  const char* usage;
  std::string_view droppable;
};

constexpr Names version1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Names version2{"memory.max", "memory.current", "inactive_file"};

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return number(word);
}

/// Returns the value of `key` in a file of lines "key value"; 0 without one.
std::int64_t value_in(const fs::path& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string name, value; stream >> name >> value;) {
    if (name == key) return number(value).value_or(0);
  }
  return 0;
}

/// Lowers `least` to the limits of one control group.
void apply(MemoryLimit& least, const fs::path& group, const Names& names) {
  const auto limit = number_in(group / names.limit);
  if (!limit || *limit >= unlimited) return;
  least.limit = std::min(least.limit, *limit);
  const std::int64_t droppable = value_in(group / "memory.stat", names.droppable);
  const std::int64_t used = number_in(group / names.usage).value_or(0) - droppable;
  const std::int64_t available = *limit - std::clamp<std::int64_t>(used, 0, *limit);
  least.available = std::min(least.available, available);
}

/// Whether `word` is in a list that is separated by commas.
bool lists(const std::string& list, std::string_view word) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (std::string_view(list).substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

/// Returns this process's path in the hierarchy with `controller`, which is empty for version 2.
std::optional<fs::path> path_in_hierarchy(const fs::path& proc, std::string_view controller) {
  std::ifstream stream(proc / "cgroup");
  for (std::string line; std::getline(stream, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string list = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? list.empty() : lists(list, controller)) {
      return fs::path(line.substr(second + 1));
    }
  }
  return std::nullopt;
}

/// Lowers `least` to the limits of the group at `path` and of its parents below the mount point. In
/// a container the mount shows the hierarchy from `root` on.
void apply_path(MemoryLimit& least, const fs::path& mount, const fs::path& root,
                const fs::path& path, const Names& names) {
  fs::path below = path.lexically_relative(root);
  if (below.empty() || *below.begin() == "..") below = ".";
  for (fs::path group = (mount / below).lexically_normal();; group = group.parent_path()) {
    apply(least, group, names);
    if (group == mount || group == group.parent_path()) return;
  }
}

void apply_mounts(MemoryLimit& least, const fs::path& proc) {
  std::ifstream stream(proc / "mountinfo");
  for (std::string line; std::getline(stream, line);) {
    const auto separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::istringstream head(line.substr(0, separator));
    std::istringstream tail(line.substr(separator + 3));
    std::string id, parent, device, root, mount, type, source, options;
    head >> id >> parent >> device >> root >> mount;
    tail >> type >> source >> options;
    const bool second = type == "cgroup2";
    if (!second && (type != "cgroup" || !lists(options, "memory"))) continue;
    if (const auto path = path_in_hierarchy(proc, second ? "" : "memory")) {
      apply_path(least, mount, root, *path, second ? version2 : version1);
    }
  }
}

std::optional<std::int64_t> variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? number(text) : std::nullopt;
}

/// Returns the memory of Slurm's job on this node; Slurm gives MiB, and 0 for the whole node.
std::int64_t slurm_limit() {
  constexpr std::int64_t mebibyte = 1 << 20;
  if (const auto node = variable("SLURM_MEM_PER_NODE"); node && *node > 0) return *node * mebibyte;
  const auto core = variable("SLURM_MEM_PER_CPU");
  const auto cores = variable("SLURM_CPUS_ON_NODE");
  return core && cores && *core > 0 && *cores > 0 ? *core * *cores * mebibyte : no_memory_limit;
}

}  // namespace

MemoryLimit memory_limit(const fs::path& proc) {
  MemoryLimit least;
  apply_mounts(least, proc);
  const std::int64_t slurm = slurm_limit();
  return {std::min(least.limit, slurm), std::min(least.available, slurm)};
}

}  // namespace fabricbench
