#pragma once

// As much of HTTP as it takes to ask a server of this machine, and to misbehave.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace stap::test {

/// A TCP connection to a port of 127.0.0.1. Nothing is waited for longer than 10 s.
class Connection {
 public:
  explicit Connection(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connected() const { return connected_; }
  /// Ends it as a program does that is killed.
  void reset() const {
    const linger at_once{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  /// False: it was cut off.
  bool send(const std::string& text) const {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t n = ::send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return false;
      at += static_cast<std::size_t>(n);
    }
    return true;
  }
  /// All that comes until the other side ends it.
  std::string rest() const {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = recv(socket_, buffer, sizeof buffer, 0)) > 0;)
      text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }

 private:
  int socket_;
  bool connected_ = false;
};

/// The whole answer to a request; empty: there was none.
inline std::string asked(int port, const std::string& request) {
  const Connection connection(port);
  if (!connection.connected()) return "";
  connection.send(request);
  return connection.rest();
}

}  // namespace stap::test
