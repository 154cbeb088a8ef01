#pragma once

// HTTP on the loopback interface, for `stap watch`: who may ask, and what he gets. The library that
// speaks it is seen by watch_http.cpp only.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace stap::app {

struct WebAnswer {
  int status = 404;
  std::string type = "text/plain; charset=utf-8";
  std::string body = "not found\n";
  std::string location = {};                  ///< of a redirection
  std::string policy = "default-src 'none'";  ///< of its contents; being framed is forbidden to all
};

/// 32 hexadecimal digits from the system's random source. Throws Error(unavailable).
std::string random_token();
/// Whether they are equal, in a time that depends on their sizes only.
bool same_secret(std::string_view given, std::string_view secret);

/// Answers GET and HEAD of programs of this machine that name it as 127.0.0.1:PORT or
/// localhost:PORT and come from no other site. Connections are short: a request of at most 64 kB
/// within 2 s, all within 15 s, 32 at a time; where more wait, a request has a fifth of a second.
class LoopbackServer {
 public:
  /// Asked in many threads, with the request's target (path and query) as it was sent.
  using Respond = std::function<WebAnswer(const std::string& target)>;

  /// `port` 0: any that is free. Throws Error(unavailable) if it cannot be had, or if this build
  /// has no HTTP.
  LoopbackServer(int port, Respond respond);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  int port() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace stap::app
