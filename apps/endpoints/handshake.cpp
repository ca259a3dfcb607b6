// SPDX-License-Identifier: Apache-2.0
#include "endpoints/handshake.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace fabricbench::endpoints {

std::string name_of(fid& object) {
  std::array<char, 256> name{};
  std::size_t length = name.size();
  check("fi_getname", fi_getname(&object, name.data(), &length));
  return std::to_string(length).append(":").append(name.data(), length);
}

std::string_view next_name(std::string_view& names) {
  std::size_t length = 0;
  const auto [colon, error] = std::from_chars(names.data(), names.data() + names.size(), length);
  names.remove_prefix(std::min(names.size(), static_cast<std::size_t>(colon - names.data()) + 1));
  if (error != std::errc{} || length > names.size()) throw Refused("a name is missing");
  const std::string_view name = names.substr(0, length);
  names.remove_prefix(length);
  return name;
}

std::string in_step(Peer& peer, const std::function<std::string()>& step) {
  std::string mine;
  try {
    mine = std::string("+").append(step());
  } catch (const Refused& refused) {
    mine = std::string(1, refusal).append(refused.what());
  }
  const std::string theirs = peer.exchange(mine, [] {});
  if (mine.starts_with('+') && theirs.starts_with('+')) return theirs.substr(1);
  // The reason is empty on a side that stopped because of the other side.
  throw Refused(mine.starts_with('+') || mine.size() == 1 ? theirs.substr(1) : mine.substr(1));
}

}  // namespace fabricbench::endpoints
