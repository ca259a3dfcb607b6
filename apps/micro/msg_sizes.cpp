// SPDX-License-Identifier: Apache-2.0
#include "micro/msg_sizes.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "common/memory_limit.hpp"
#include "common/usage_error.hpp"

namespace fabricbench::micro {
namespace {

using Suffix = std::pair<std::string_view, std::int64_t>;
constexpr std::array<Suffix, 7> suffixes{{{"", 1},
                                          {"K", 1 << 10},
                                          {"KiB", 1 << 10},
                                          {"M", 1 << 20},
                                          {"MiB", 1 << 20},
                                          {"G", 1 << 30},
                                          {"GiB", 1 << 30}}};

[[noreturn]] void fail(std::string_view option, std::string_view text, const std::string& why) {
  throw UsageError(std::string(option) + ": \"" + std::string(text) + "\" " + why);
}

}  // namespace

std::int64_t parse_size(std::string_view option, std::string_view text, std::int64_t largest) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  const auto* const unit = std::find_if(suffixes.begin(), suffixes.end(),
                                        [&](const Suffix& s) { return s.first == suffix; });
  if (error == std::errc::invalid_argument || unit == suffixes.end() || text.starts_with('-')) {
    fail(option, text, "is not a message size; give bytes such as 0, 8, 64KiB or 4MiB");
  }
  if (error == std::errc::result_out_of_range || number > largest / unit->second) {
    fail(option, text,
         "is too large; the limit here is " + std::to_string(largest) +
             " bytes (2^31-1, and a quarter of the memory); give a smaller size");
  }
  return number * unit->second;
}

std::vector<std::int64_t> parse_size_list(std::string_view option, std::string_view text,
                                          std::int64_t largest) {
  std::vector<std::int64_t> sizes;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::int64_t size = parse_size(option, rest.substr(0, comma), largest);
    if (std::find(sizes.begin(), sizes.end(), size) != sizes.end()) {
      fail(option, text, "has " + std::to_string(size) + " bytes twice; give each size once");
    }
    sizes.push_back(size);
    if (comma == std::string_view::npos) return sizes;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<std::int64_t> doubling_sizes(std::int64_t smallest, std::int64_t largest) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = smallest; size <= largest; size = size == 0 ? 1 : 2 * size) {
    sizes.push_back(size);
  }
  return sizes;
}

std::int64_t quarter_of_memory() {
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES);
  const std::int64_t page_bytes = sysconf(_SC_PAGESIZE);
  const bool known = pages > 0 && page_bytes > 0;
  const std::int64_t physical = known ? pages * page_bytes : no_memory_limit;
  return std::min(physical, memory_limit().limit) / 4;
}

std::size_t capacity(std::int64_t messages, std::int64_t size) {
  const std::int64_t limit = quarter_of_memory();
  if (size > 0 && messages > limit / size) {
    throw UsageError(std::to_string(messages) + " messages of " + std::to_string(size) +
                     " bytes exceed a quarter of the memory, " + std::to_string(limit) +
                     " bytes; give smaller sizes or fewer messages");
  }
  return static_cast<std::size_t>(messages * size);
}

std::int64_t largest_size_in_memory() {
  return std::min(largest_msg_size, quarter_of_memory());
}

}  // namespace fabricbench::micro
