#include "watch_http.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "watch_head.h"
#ifdef STAP_HAVE_HTTPLIB
#include <httplib.h>
#endif

namespace stap::app {

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(ErrorKind::unavailable,
                fmt::format("the system gives no random numbers: {}", std::strerror(errno)));
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool same_secret(std::string_view given, std::string_view secret) {
  if (given.size() != secret.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(secret[i]);
  return difference == 0;
}

#ifdef STAP_HAVE_HTTPLIB
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kThreads = 32;
constexpr int kBacklog = 512;
constexpr std::chrono::seconds kWhole{15};  // until an answer must have been taken

// What the library reads is a head that was read and judged already; what it answers must be taken
// before the end.
class JudgedStream : public httplib::Stream {
 public:
  JudgedStream(int socket, std::string head, Clock::time_point end)
      : socket_(socket), head_(std::move(head)), end_(end) {}

  bool is_readable() const override { return at_ < head_.size(); }
  bool is_writable() const override {
    pollfd ready{socket_, POLLOUT, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
    return left.count() > 0 && poll(&ready, 1, static_cast<int>(left.count())) > 0;
  }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t n = std::min(size, head_.size() - at_);
    head_.copy(to, n, at_);
    at_ += n;
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char* from, std::size_t size) override {
    for (std::size_t done = 0; done < size;) {
      if (!is_writable()) return -1;
      const ssize_t n = ::send(socket_, from + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n <= 0) return -1;  // who asked has gone
      done += static_cast<std::size_t>(n);
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }
  // What later versions of the library ask for.
  bool wait_readable() const { return is_readable(); }
  bool wait_writable() const { return is_writable(); }
  time_t duration() const { return 0; }

 private:
  int socket_;
  std::string head_;
  std::size_t at_ = 0;
  Clock::time_point end_;
};

// Reads and judges heads by itself.
class JudgingServer : public httplib::Server {
 public:
  int port = 0;

 private:
  bool process_and_close_socket(socket_t socket) override {
    ++busy_;
    try {
      answer(socket);
    } catch (const std::exception&) {
      // Out of memory, say: who asked hears nothing, the others do.
    }
    // With bytes that nobody has read the other side would lose the answer.
    shutdown(socket, SHUT_WR);
    std::array<char, 4096> rest{};
    for (int i = 0; i < 16 && recv(socket, rest.data(), rest.size(), MSG_DONTWAIT) > 0; ++i) {
    }
    close(socket);
    --busy_;
    return true;
  }

  void answer(socket_t socket) {
    const Clock::time_point end = Clock::now() + kWhole;
    ReadHead read = read_head(socket, [this] { return busy_ >= kThreads; });
    if (read.end == ReadHead::End::gone) return;
    const std::optional<RequestHead> head = parse_head(read.text);
    JudgedStream stream(socket, std::move(read.text), end);
    const auto refuse = [&](int status, std::string_view reason) {
      const std::string text = refusal(status, reason);
      stream.write(text.data(), text.size());
    };
    if (read.end == ReadHead::End::late) return refuse(408, "too slow");
    if (read.end == ReadHead::End::too_long) return refuse(431, "too long");
    if (!head) return refuse(400, "no request");
    if (!may_ask(*head, port)) return refuse(403, "refused");
    process(*this, stream);
  }

  // A template, so that only what this version of the library has is compiled.
  template <class Self>
  static void process(Self& self, httplib::Stream& stream) {
    bool closed = false;
    const std::function<void(httplib::Request&)> nothing;
    if constexpr (requires { self.process_request(stream, true, closed, nothing); })
      self.process_request(stream, true, closed, nothing);
    else
      self.process_request(stream, "127.0.0.1", 0, "127.0.0.1", 0, true, closed, nothing);
  }

  std::atomic<std::size_t> busy_ = 0;  // threads with somebody who asks
};

void put(const httplib::Request& request, const WebAnswer& answer, httplib::Response& response) {
  response.status = answer.status;
  if (request.has_header("Range") || answer.body.empty()) {
    // The library cuts parts out of whatever is answered, and does not ask how much there is.
    if (!answer.body.empty()) response.status = 416;
    response.set_content("", answer.type);
  } else {
    // As a provider it is sent as it is: compressing a page takes longer than loopback saves.
    response.set_content_provider(
        answer.body.size(), answer.type,
        [body = answer.body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
          if (offset >= body.size()) return false;
          return sink.write(body.data() + offset, std::min(length, body.size() - offset));
        });
  }
  response.set_header("Content-Security-Policy", answer.policy + "; frame-ancestors 'none'");
  if (!answer.location.empty()) response.set_header("Location", answer.location);
}

}  // namespace

struct LoopbackServer::Inside {
  JudgingServer server;
  std::jthread thread;
};

LoopbackServer::LoopbackServer(int port, Respond respond) : inside_(std::make_unique<Inside>()) {
  JudgingServer& server = inside_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_payload_max_length(0);
  // The library's own would let others listen at the same port.
  int listener = -1;
  server.set_socket_options([&listener](auto socket) {
    const int yes = 1;
    listener = socket;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cache-Control", "no-store"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Connection", "close"},
  });
  // Before anything else is looked at, the body least of all.
  server.set_pre_routing_handler(
      [respond = std::move(respond)](const httplib::Request& request, httplib::Response& response) {
        if (request.method != "GET" && request.method != "HEAD") {
          put(request, {405, "text/plain; charset=utf-8", "only GET and HEAD\n"}, response);
          response.set_header("Allow", "GET, HEAD");
        } else {
          put(request, respond(request.target), response);
        }
        return httplib::Server::HandlerResponse::Handled;
      });
  errno = 0;
  server.port = port == 0                                ? server.bind_to_any_port("127.0.0.1")
                : server.bind_to_port("127.0.0.1", port) ? port
                                                         : -1;
  if (server.port <= 0)
    throw Error(ErrorKind::unavailable,
                port == 0 ? fmt::format("no port of 127.0.0.1 can be had: {}", std::strerror(errno))
                          : fmt::format("port {} of 127.0.0.1 cannot be had ({}): another one, or "
                                        "any that is free without --port",
                                        port, std::strerror(errno)));
  listen(listener, kBacklog);  // the library's own is 5, and who comes sixth waits for a second
  inside_->thread = std::jthread([this] { inside_->server.listen_after_bind(); });
  for (int tries = 0; tries < 2000 && !server.is_running(); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

LoopbackServer::~LoopbackServer() {
  inside_->server.stop();
}

int LoopbackServer::port() const {
  return inside_->server.port;
}

#else

struct LoopbackServer::Inside {};

LoopbackServer::LoopbackServer(int, Respond) {
  throw Error(
      ErrorKind::unavailable,
      "this build of stap has no 'watch': install cpp-httplib (Debian and Ubuntu: "
      "libcpp-httplib-dev) and build it again; 'stap queue' and 'stap report' need neither");
}
LoopbackServer::~LoopbackServer() = default;
int LoopbackServer::port() const {
  return 0;
}

#endif

}  // namespace stap::app
