// Limits on connections that the HTTP library does not have: it waits for every byte anew, takes
// any number of header lines and lets others queue. So the sockets of this process are looked at
// from beside it; shutdown() makes the library see the end of the connection.
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "watch_http.h"

namespace stap::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::seconds kAsking{2}, kWhole{15};
constexpr std::size_t kMostBytes = 64 << 10;
constexpr std::size_t kMostConnections = 32;  // as many as there are threads

// A connection: its descriptor and the other side's port, as descriptors are used again.
struct Line {
  int descriptor = -1, peer = 0;
  auto operator<=>(const Line&) const = default;
};

// The port of an address of a socket; 0: it is none of TCP/IPv4.
int port_of(int descriptor, int (*name)(int, sockaddr*, socklen_t*)) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (name(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      address.sin_family != AF_INET)
    return 0;
  return ntohs(address.sin_port);
}

std::vector<Line> connections_to(int port) {
  std::vector<Line> lines;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return lines;
  while (const dirent* entry = readdir(folder)) {
    const int descriptor = std::atoi(entry->d_name);
    if (descriptor <= 2 || port_of(descriptor, getsockname) != port) continue;
    if (const int peer = port_of(descriptor, getpeername); peer != 0)
      lines.push_back({descriptor, peer});
  }
  closedir(folder);
  return lines;
}

struct Traffic {
  bool answered = false;
  std::size_t received = 0;  // bytes
};
Traffic traffic_of(const Line& line) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(line.descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return {info.tcpi_data_segs_out > 0, static_cast<std::size_t>(info.tcpi_bytes_received)};
}

void cut_off(const Line& line) {
  // What has taken its number in the meantime is no socket, or of another peer.
  if (port_of(line.descriptor, getpeername) != line.peer) return;
  const linger at_once{1, 0};  // or who still sends would not hear of it
  setsockopt(line.descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  shutdown(line.descriptor, SHUT_RDWR);
}

void look(int port, std::map<Line, Clock::time_point>& seen) {
  const Clock::time_point now = Clock::now();
  const std::vector<Line> lines = connections_to(port);
  std::erase_if(
      seen, [&](const auto& one) { return std::ranges::find(lines, one.first) == lines.end(); });
  std::vector<std::pair<Clock::time_point, Line>> waiting;
  for (const Line& line : lines) {
    const Clock::time_point since = seen.try_emplace(line, now).first->second;
    const Traffic traffic = traffic_of(line);
    const bool slow = now - since > (traffic.answered ? kWhole : kAsking);
    if (slow || traffic.received > kMostBytes)
      cut_off(line);
    else
      waiting.emplace_back(since, line);
  }
  if (waiting.size() <= kMostConnections) return;
  std::ranges::sort(waiting);
  waiting.resize(waiting.size() - kMostConnections);
  for (const auto& [since, line] : waiting) cut_off(line);
}

}  // namespace

ConnectionLimits::ConnectionLimits(int port)
    : thread_([port](const std::stop_token& stop) {
        std::map<Line, Clock::time_point> seen;
        while (!stop.stop_requested()) {
          look(port, seen);
          std::this_thread::sleep_for(kLook);
        }
      }) {}

}  // namespace stap::app
