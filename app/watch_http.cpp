#include "watch_http.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
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

constexpr std::size_t kThreads = 32;
constexpr int kBacklog = 128;

// One of the names of this server, and nothing else.
bool is_ours(const std::string& authority, int port) {
  return authority == fmt::format("127.0.0.1:{}", port) ||
         authority == fmt::format("localhost:{}", port);
}

// Who may ask: not a page of another site, by whatever name it reaches us (DNS rebinding).
bool may_ask(const httplib::Request& request, int port) {
  if (request.get_header_value_count("Host") != 1 ||
      !is_ours(request.get_header_value("Host"), port))
    return false;
  constexpr std::string_view scheme = "http://";
  for (std::size_t i = 0; i < request.get_header_value_count("Origin"); ++i) {
    const std::string origin = request.get_header_value("Origin", i);
    if (!origin.starts_with(scheme) || !is_ours(origin.substr(scheme.size()), port)) return false;
  }
  for (std::size_t i = 0; i < request.get_header_value_count("Sec-Fetch-Site"); ++i) {
    const std::string site = request.get_header_value("Sec-Fetch-Site", i);
    if (site != "same-origin" && site != "none") return false;
  }
  return true;
}

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
  httplib::Server server;
  int port = 0;
  std::jthread thread;
  std::unique_ptr<ConnectionLimits> limits;
};

LoopbackServer::LoopbackServer(int port, Respond respond) : inside_(std::make_unique<Inside>()) {
  httplib::Server& server = inside_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_keep_alive_max_count(1);
  server.set_read_timeout(2, 0);
  server.set_write_timeout(5, 0);
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
  server.set_pre_routing_handler([this, respond = std::move(respond)](
                                     const httplib::Request& request, httplib::Response& response) {
    if (!may_ask(request, inside_->port)) {
      put(request, {403, "text/plain; charset=utf-8", "refused\n"}, response);
    } else if (request.method != "GET" && request.method != "HEAD") {
      put(request, {405, "text/plain; charset=utf-8", "only GET and HEAD\n"}, response);
      response.set_header("Allow", "GET, HEAD");
    } else {
      put(request, respond(request.target), response);
    }
    return httplib::Server::HandlerResponse::Handled;
  });
  errno = 0;
  inside_->port = port == 0                                ? server.bind_to_any_port("127.0.0.1")
                  : server.bind_to_port("127.0.0.1", port) ? port
                                                           : -1;
  if (inside_->port <= 0)
    throw Error(ErrorKind::unavailable,
                port == 0 ? fmt::format("no port of 127.0.0.1 can be had: {}", std::strerror(errno))
                          : fmt::format("port {} of 127.0.0.1 cannot be had ({}): another one, or "
                                        "any that is free without --port",
                                        port, std::strerror(errno)));
  listen(listener, kBacklog);  // the library's own is 5, and who comes sixth waits for a second
  inside_->limits = std::make_unique<ConnectionLimits>(inside_->port);
  inside_->thread = std::jthread([this] { inside_->server.listen_after_bind(); });
  for (int tries = 0; tries < 2000 && !server.is_running(); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

LoopbackServer::~LoopbackServer() {
  inside_->server.stop();
}

int LoopbackServer::port() const {
  return inside_->port;
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
