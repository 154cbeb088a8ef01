// How frames come and go: a stream socket, and where a worker finds it.
#pragma once

#include <poll.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/private_folder.h"
#include "couple/frame_reader.h"

namespace stap {

/// Frames over a stream socket, without ever waiting.
class Connection {
 public:
  explicit Connection(Descriptor socket) : socket_(std::move(socket)) {}

  FrameReader& reader() { return reader_; }
  /// Sent by go_on(), behind what was given before.
  void send(const std::vector<std::byte>& frame);
  /// Sends what is to be sent and reads up to the end of a frame, as far as that goes now. True if
  /// bytes came.
  bool go_on();
  std::optional<WorkerFrame> take() { return reader_.take(); }
  /// The other side is gone: nothing more will come.
  bool closed() const { return closed_; }
  /// The errno with which the system keeps failing to send or receive: that is no end of the other
  /// side. 0: it does not.
  int error() const { return error_; }
  /// What to wait for.
  pollfd wanted() const;

 private:
  Descriptor socket_;
  FrameReader reader_;
  std::vector<std::byte> outgoing_;
  std::size_t sent_ = 0;  // of outgoing_
  void note(int error);

  bool closed_ = false;
  int errors_ = 0, error_ = 0;
};

/// Both ends of a connection on this machine: ours, and one that blocks as programs expect it.
/// Throws Error(storage).
std::pair<Descriptor, Descriptor> make_socket_pair();

/// Waits for a worker to connect back: on a Unix socket in a folder that nobody else may enter, or
/// by TCP where an address of this machine is given. Removes what it made.
class Listener {
 public:
  /// Below `folder` if a socket's short path allows that, else below /tmp. Throws
  /// Error(storage).
  Listener(const std::filesystem::path& folder, const std::string& address);

  int descriptor() const { return socket_.number(); }
  /// For STAP_CONNECT: "unix:/path" or "tcp:host:port".
  const std::string& where() const { return where_; }
  /// A file of mode 0600 with this content. Throws Error(storage).
  std::filesystem::path write_secret(const std::string& content) const;
  /// One who has connected; none if nobody has. Throws Error(storage) if the system has no
  /// descriptor for it.
  Descriptor accept() const;

 private:
  void listen_unix();
  void listen_tcp(const std::string& address);

  PrivateFolder folder_;
  Descriptor socket_;
  std::string where_;
};

/// 64 hexadecimal digits that nobody can guess. Throws Error(storage).
std::string make_token();
/// Takes as long for a token that is nearly right as for any other.
bool same_token(const std::string& a, const std::string& b);

}  // namespace stap
