// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace fabricbench::endpoints {

/// A TCP connection to the other process, for all unmeasured messages.
class Peer {
 public:
  /// The server waits at `address` for its client; the client connects to it. Throws UsageError.
  Peer(bool serves, const std::string& address, const std::string& port);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Sends `mine`, which must fit into a socket's buffer, and returns the text that the other side
  /// sends in the same call. Calls `meanwhile` while it waits. Throws std::runtime_error if the
  /// connection is lost.
  std::string exchange(std::string_view mine, const std::function<void()>& meanwhile);

  /// Whether a message that begins with `first` has arrived. Throws std::runtime_error if the
  /// connection is lost.
  [[nodiscard]] bool says(char first) const;

  /// This side's address of the connection, as a number.
  [[nodiscard]] std::string address() const;

 private:
  void receive(char* data, std::size_t size, const std::function<void()>& meanwhile) const;

  int socket_ = -1;
};

}  // namespace fabricbench::endpoints
