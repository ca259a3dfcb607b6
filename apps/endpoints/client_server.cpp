// SPDX-License-Identifier: Apache-2.0
#include "endpoints/client_server.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace fabricbench::endpoints {

int ClientServer::open(std::size_t count) {
  if (connections_ && connections_->count() == count) return 0;
  connections_.reset();
  try {
    connections_ =
        std::make_unique<Connections>(network_, peer_, rank() == client_rank, count, buffers_);
    return 0;
  } catch (const Refused& refused) {
    refusal_ = refused.what();
    return 1;
  }
}

std::int64_t ClientServer::largest(std::int64_t value) {
  const std::string reply = peer_.exchange(std::to_string(value), [this] {
    if (connections_) connections_->progress();
  });
  std::int64_t other = 0;
  const char* const end = reply.data() + reply.size();
  const auto [rest, error] = std::from_chars(reply.data(), end, other);
  if (error != std::errc{} || rest != end)
    throw std::runtime_error("\"" + reply + "\" from the other side is not a number");
  return std::max(value, other);
}

}  // namespace fabricbench::endpoints
