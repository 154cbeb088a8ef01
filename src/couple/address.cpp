#include "couple/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>

namespace stap {
namespace {

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24) == 127;
  return address->sa_family != AF_INET6 ||
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr) ||
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

std::string numeric(const sockaddr* address) {
  std::array<char, NI_MAXHOST> text{};
  const auto size = static_cast<socklen_t>(address->sa_family == AF_INET ? sizeof(sockaddr_in)
                                                                         : sizeof(sockaddr_in6));
  if (getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  return text.data();
}

// What a name stands for, if that is an address of this machine that others can reach.
std::string address_of(const char* name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (name == nullptr || *name == '\0' || getaddrinfo(name, nullptr, &hints, &list) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, freeaddrinfo);
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next)
    if (!is_loopback(one->ai_addr)) return numeric(one->ai_addr);
  return {};
}

std::string address_of_interface() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> found(list, freeifaddrs);
  std::string other;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!up || one->ifa_addr == nullptr || is_loopback(one->ifa_addr)) continue;
    if (one->ifa_addr->sa_family == AF_INET) return numeric(one->ifa_addr);
    if (other.empty()) other = numeric(one->ifa_addr);
  }
  return other;
}

}  // namespace

std::string reachable_address() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  for (const char* called : {std::getenv("SLURMD_NODENAME"), static_cast<char*>(name.data())})
    if (std::string address = address_of(called); !address.empty()) return address;
  const std::string address = address_of_interface();
  return address.empty() ? "127.0.0.1" : address;
}

}  // namespace stap
