// SPDX-License-Identifier: Apache-2.0
#include "endpoints/peer.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "common/usage_error.hpp"

namespace fabricbench::endpoints {
namespace {

constexpr std::size_t head_length = 8;  ///< digits of the length in front of each message
constexpr std::size_t largest_message = 1 << 20;

[[noreturn]] void lost() {
  throw std::runtime_error(
      "lost the connection to the other side; see its messages, and check that it runs "
      "fabricbench-endpoints");
}

/// A socket to the first client that connects to `address`, or -1 and errno.
int accept_at(const addrinfo& address) {
  const int on = 1;
  const int listening = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int accepted = -1;
  if (listening >= 0 && bind(listening, address.ai_addr, address.ai_addrlen) == 0 &&
      listen(listening, 1) == 0) {
    accepted = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  }
  const int error = errno;
  if (listening >= 0) close(listening);
  errno = error;
  return accepted;
}

int connect_to(const addrinfo& address) {
  const int connecting = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connecting >= 0 && connect(connecting, address.ai_addr, address.ai_addrlen) == 0)
    return connecting;
  const int error = errno;
  if (connecting >= 0) close(connecting);
  errno = error;
  return -1;
}

}  // namespace

Peer::Peer(bool serves, const std::string& address, const std::string& port) {
  const std::string where = address + " port " + port + ": ";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* first = nullptr;
  if (const int error = getaddrinfo(address.c_str(), port.c_str(), &hints, &first)) {
    throw UsageError(where + gai_strerror(error) + "; give an address of the server and a port");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(first, freeaddrinfo);
  socket_ = serves ? accept_at(*found) : connect_to(*found);
  if (socket_ < 0) {
    throw UsageError(where + std::strerror(errno) +
                     (serves ? "; give an address of this host and a free port"
                             : "; start the server first, at this address"));
  }
}

Peer::~Peer() {
  if (socket_ >= 0) close(socket_);
}

std::string Peer::exchange(std::string_view mine, const std::function<void()>& meanwhile) {
  std::string sent = std::to_string(mine.size());
  sent.insert(0, head_length - sent.size(), '0');
  sent.append(mine);
  if (send(socket_, sent.data(), sent.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(sent.size()))
    lost();
  std::array<char, head_length> head{};
  receive(head.data(), head.size(), meanwhile);
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(head.data(), head.data() + head.size(), size);
  if (error != std::errc{} || end != head.data() + head.size() || size > largest_message) lost();
  std::string theirs(size, '\0');
  receive(theirs.data(), size, meanwhile);
  return theirs;
}

void Peer::receive(char* data, std::size_t size, const std::function<void()>& meanwhile) const {
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = recv(socket_, data + done, size - done, MSG_DONTWAIT);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
      meanwhile();
    } else {
      lost();
    }
  }
}

bool Peer::says(char first) const {
  std::array<char, head_length + 1> next{};
  const ssize_t count = recv(socket_, next.data(), next.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) lost();
  return count == static_cast<ssize_t>(next.size()) && next.back() == first;
}

std::string Peer::address() const {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  std::array<char, NI_MAXHOST> text{};
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    throw std::runtime_error("cannot read this side's address from its TCP connection");
  }
  return text.data();
}

}  // namespace fabricbench::endpoints
