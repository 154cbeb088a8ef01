#include "watch_head.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include <fmt/format.h>

namespace stap::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAsking{2000}, kAskingInCrowds{200}, kGlance{20};
constexpr std::string_view kLineEnd = "\r\n", kHeadEnd = "\r\n\r\n";

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// What names of headers and methods are made of.
bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "0123456789!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || kOthers.find(c) != std::string_view::npos;
  });
}

bool is_value(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

bool is_target(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Takes the next line off.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find(kLineEnd), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + kLineEnd.size()));
  return line;
}

bool is_ours(std::string_view authority, int port) {
  return authority == fmt::format("127.0.0.1:{}", port) ||
         authority == fmt::format("localhost:{}", port);
}

}  // namespace

std::optional<RequestHead> parse_head(std::string_view text) {
  if (!text.ends_with(kHeadEnd)) return std::nullopt;
  text.remove_suffix(kLineEnd.size());
  const std::string_view line = next_line(text);
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const std::string_view method = line.substr(0, first), version = line.substr(last + 1),
                         target = line.substr(first + 1, last - first - 1);
  if (!is_token(method) || !is_target(target) || (version != "HTTP/1.1" && version != "HTTP/1.0"))
    return std::nullopt;
  RequestHead head{std::string(method), std::string(target)};
  while (!text.empty()) {
    const std::string_view header = next_line(text);
    const std::size_t colon = header.find(':');
    if (colon == std::string_view::npos || !is_token(header.substr(0, colon)) ||
        !is_value(header.substr(colon + 1)))
      return std::nullopt;
    head.headers.push_back({in_small_letters(header.substr(0, colon)),
                            std::string(trimmed(header.substr(colon + 1)))});
  }
  return head;
}

bool may_ask(const RequestHead& head, int port) {
  constexpr std::string_view kScheme = "http://";
  std::size_t hosts = 0;
  for (const auto& [name, value] : head.headers) {
    const std::string_view origin = value;
    if (name == "host" && (++hosts > 1 || !is_ours(value, port))) return false;
    if (name == "origin" &&
        (!origin.starts_with(kScheme) || !is_ours(origin.substr(kScheme.size()), port)))
      return false;
    if (name == "sec-fetch-site" && value != "same-origin" && value != "none") return false;
  }
  return hosts == 1;
}

ReadHead read_head(int socket, const std::function<bool()>& crowded) {
  ReadHead head;
  std::array<char, 4096> part{};
  const Clock::time_point start = Clock::now();
  for (;;) {
    pollfd ready{socket, POLLIN, 0};
    poll(&ready, 1, static_cast<int>(kGlance.count()));
    const ssize_t n = recv(socket, part.data(), part.size(), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return {};
    if (n > 0) {
      const std::size_t seen = head.text.size() - std::min(head.text.size(), kHeadEnd.size() - 1);
      head.text.append(part.data(), static_cast<std::size_t>(n));
      const std::size_t end = head.text.find(kHeadEnd, seen);
      if (end != std::string::npos) head.text.resize(end + kHeadEnd.size());
      if (head.text.size() > kHeadBytesMost) return {ReadHead::End::too_long};
      if (end != std::string::npos) {
        head.end = ReadHead::End::whole;
        return head;
      }
    }
    const auto passed = Clock::now() - start;
    if (passed > kAsking || (passed > kAskingInCrowds && crowded())) return {ReadHead::End::late};
  }
}

std::string refusal(int status, std::string_view reason) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
      "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
      "Connection: close\r\n\r\n{}\n",
      status, reason, reason.size() + 1, reason);
}

}  // namespace stap::app
