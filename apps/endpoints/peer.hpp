// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace fabricbench::endpoints {

/// The other process, over a TCP connection beside the network that is measured.
class Peer {
 public:
  /// The server waits at `address` for its client, the client connects to it. Throws UsageError.
  Peer(bool serves, const std::string& address, const std::string& port);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Sends `mine`, which must fit into a socket's buffer, and returns what the other side sends in
  /// the same call: nobody goes on before both are here. `meanwhile` is called until then. Throws
  /// std::runtime_error if the other side is gone.
  std::string swap(std::string_view mine, const std::function<void()>& meanwhile);

  /// Whether a message that begins with `first` has come. Throws std::runtime_error if the other
  /// side is gone.
  [[nodiscard]] bool says(char first) const;

  /// This side's address of the connection, as a number.
  [[nodiscard]] std::string address() const;

 private:
  void receive(char* data, std::size_t size, const std::function<void()>& meanwhile) const;

  int socket_ = -1;
};

}  // namespace fabricbench::endpoints
