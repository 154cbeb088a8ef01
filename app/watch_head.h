#pragma once

// The head of an HTTP request as it was sent. Who may ask is judged by its bytes, before the
// library that speaks HTTP sees them: that one decodes what headers say, and takes any number of
// them.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stap::app {

inline constexpr std::size_t kHeadBytesMost = 64 << 10;

struct RequestHead {
  struct Header {
    std::string name;   ///< in small letters
    std::string value;  ///< without blanks around it, otherwise as it was sent
  };

  std::string method, target;
  std::vector<Header> headers{};
};

/// Empty unless it is a request line and headers by the letter: lines that end with CR LF, no other
/// control characters, no continued lines, no blanks before a colon.
std::optional<RequestHead> parse_head(std::string_view text);

/// Whether it names this server as 127.0.0.1:PORT or localhost:PORT, once and exactly, and comes
/// from no page of another site, by whatever name that reaches us (DNS rebinding).
bool may_ask(const RequestHead& head, int port);

struct ReadHead {
  enum class End { whole, too_long, late, gone };

  End end = End::gone;
  std::string text{};  ///< with the empty line at its end; what follows it is left out
};
/// Waits for the head of a request, for 2 s at most, and where `crowded` says that others wait for
/// a fifth of a second.
ReadHead read_head(int socket, const std::function<bool()>& crowded);

/// A whole answer that says no more than this.
std::string refusal(int status, std::string_view reason);

}  // namespace stap::app
