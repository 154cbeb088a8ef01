#include "couple/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "core/shortage.h"
#include "stap/core/error.h"

namespace stap {
namespace {

[[noreturn]] void cannot(const std::string& what, int error = errno) {
  throw Error(ErrorKind::storage,
              fmt::format("cannot {}: {}", what, std::generic_category().message(error)));
}

constexpr int kErrorsMost = 3;  // in a row: one may pass

bool would_wait(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

void Connection::send(const std::vector<std::byte>& frame) {
  outgoing_.insert(outgoing_.end(), frame.begin(), frame.end());
}

void Connection::note(int error) {
  if (++errors_ >= kErrorsMost) error_ = error;
}

bool Connection::go_on() {
  int unsent = 0;
  while (!closed_ && sent_ < outgoing_.size()) {
    const ssize_t n = ::send(socket_.number(), outgoing_.data() + sent_, outgoing_.size() - sent_,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
      sent_ += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      if (!would_wait(errno)) unsent = errno;
      break;
    }
  }
  if (sent_ == outgoing_.size()) {
    outgoing_.clear();
    sent_ = 0;
  }
  bool came = false;
  while (!closed_ && error_ == 0) {
    const auto room = reader_.room();
    if (room.empty()) break;
    const ssize_t n = recv(socket_.number(), room.data(), room.size(), MSG_DONTWAIT);
    if (n > 0) {
      reader_.put(static_cast<std::size_t>(n));
      came = true;
      errors_ = 0;
    } else if (n == 0) {
      closed_ = true;
    } else if (would_wait(errno)) {
      if (errno == EINTR) continue;
      if (unsent == EPIPE || unsent == ECONNRESET)  // it has not gone, but hears nothing any more
        closed_ = ++errors_ >= kErrorsMost;
      else if (unsent != 0)
        note(unsent);
      else
        errors_ = 0;
      break;
    } else {
      note(errno);  // behind a reset there is the end
    }
  }
  return came;
}

pollfd Connection::wanted() const {
  const bool more = sent_ < outgoing_.size();
  return {socket_.number(), static_cast<short>(more ? POLLIN | POLLOUT : POLLIN), 0};
}

std::pair<Descriptor, Descriptor> make_socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) cannot("make a socket");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

namespace {

// What a socket's path may have, less what PrivateFolder and we append.
constexpr std::size_t kPlaceMost =
    sizeof(sockaddr_un::sun_path) - sizeof "/stap-socket-1234567890-XXXXXX/socket";

}  // namespace

Listener::Listener(const std::filesystem::path& folder, const std::string& address)
    : folder_(folder.native().size() <= kPlaceMost ? folder : "/tmp", "stap-socket") {
  if (address.empty())
    listen_unix();
  else
    listen_tcp(address);
}

void Listener::listen_unix() {
  const std::string path = (folder_.path() / "socket").string();
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  socket_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket_.number() < 0 ||
      bind(socket_.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      listen(socket_.number(), 16) != 0)
    cannot(fmt::format("listen on '{}'", path));
  where_ = "unix:" + path;
}

void Listener::listen_tcp(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(address.c_str(), "0", &hints, &list); error != 0)
    throw Error(ErrorKind::storage,
                fmt::format("cannot listen on '{}': {}", address, gai_strerror(error)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, freeaddrinfo);
  socket_ = Descriptor(
      socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, found->ai_protocol));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  std::array<char, 32> port{};
  if (socket_.number() < 0 || bind(socket_.number(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(socket_.number(), 16) != 0 ||
      getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&bound), &size) != 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&bound), size, nullptr, 0, port.data(),
                  port.size(), NI_NUMERICSERV) != 0)
    cannot(fmt::format("listen on '{}'", address));
  const bool colons = address.find(':') != std::string::npos;
  where_ = fmt::format(fmt::runtime(colons ? "tcp:[{}]:{}" : "tcp:{}:{}"), address, port.data());
}

std::filesystem::path Listener::write_secret(const std::string& content) const {
  const std::filesystem::path path = folder_.path() / "token";
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.number() < 0 ||
      write(file.number(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    cannot(fmt::format("write '{}'", path.string()));
  return path;
}

Descriptor Listener::accept() const {
  Descriptor socket(accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.number() < 0 && errno != EAGAIN && errno != EINTR && is_shortage(errno))
    cannot("let a worker connect");
  // Queries are written in one piece: waiting for more would only delay them. Not of Unix sockets.
  const auto set = [&](int level, int option, int value) {
    if (socket.number() >= 0) setsockopt(socket.number(), level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // A machine that loses its power says nothing: after a minute its connection is closed for it.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60000);  // ms, for what was sent and not taken
  return socket;
}

std::string make_token() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    cannot("make a token");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

bool same_token(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;  // all of ours are equally long
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

}  // namespace stap
