#include "couple/allocation.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <optional>
#include <queue>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/whole_file.h"
#include "stap/core/error.h"

namespace stap {
namespace {

constexpr std::size_t kHostsMost = 1000000;  // a slip of the pen is no list of hosts
constexpr std::size_t kSlotsMost = 100000;   // as many as the option slots takes
constexpr std::size_t kWidthMost = 18;       // digits of a host's number

[[noreturn]] void no_list(std::string_view what, std::string_view list, std::string_view expected) {
  throw Error(ErrorKind::config, fmt::format("{} is '{}', expected {}", what, list, expected));
}

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Parts between commas that are not in brackets.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t from = 0, depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']' && depth > 0) --depth;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    parts.push_back(list.substr(from, i - from));
    from = i + 1;
  }
  return parts;
}

// "1-3,07" as words: "1", "2", "3", "07".
std::vector<std::string> numbers_between(std::string_view text, std::string_view list) {
  const auto refuse = [&] { no_list("the list of hosts", list, "names such as n[1-3,7]"); };
  std::vector<std::string> words;
  for (const std::string_view range : parts_of(text)) {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash),
                           high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto first = number_in(low), last = number_in(high);
    if (!first || !last || *last < *first || *last - *first >= kHostsMost ||
        low.size() > kWidthMost)
      refuse();
    for (std::size_t n = *first; n <= *last; ++n)
      words.push_back(fmt::format("{:0{}}", n, low.size()));
  }
  return words;
}

// One part with any number of brackets, such as r[1-2]n[1-4].
std::vector<std::string> hosts_of_part(std::string_view part, std::string_view list) {
  std::vector<std::string> names{""};
  while (!part.empty()) {
    const std::size_t open = part.find('['), close = part.find(']', open);
    for (std::string& name : names) name += part.substr(0, open);
    if (open == std::string_view::npos) break;
    if (close == std::string_view::npos) no_list("the list of hosts", list, "a ']' for every '['");
    const auto words = numbers_between(part.substr(open + 1, close - open - 1), list);
    if (names.size() * words.size() > kHostsMost)
      no_list("the list of hosts", list, "fewer than a million of them");
    std::vector<std::string> longer;
    for (const std::string& name : names)
      for (const std::string& word : words) longer.push_back(name + word);
    names = std::move(longer);
    part.remove_prefix(close + 1);
  }
  return names;
}

void add_host(std::vector<Host>& hosts, const std::string& name, std::size_t cpus) {
  const auto found = std::ranges::find(hosts, name, &Host::name);
  if (found == hosts.end())
    hosts.push_back({name, cpus});
  else
    found->cpus += cpus;
}

constexpr std::size_t kMaxHostFile = std::size_t{1} << 24;

std::vector<Host> hosts_in_file(const std::filesystem::path& file, const std::string& called) {
  std::string text;
  try {
    text = read_whole_file(file, kMaxHostFile, ErrorKind::config);
  } catch (const Error& error) {
    throw Error(ErrorKind::config, fmt::format("{}: {}", called, error.what()));
  }
  std::istringstream in(text);
  std::vector<Host> hosts;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, word;
    if (!(words >> name)) continue;
    std::optional<std::size_t> cpus = 1;
    if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
      cpus = number_in(std::string_view(name).substr(colon + 1));
      name.resize(colon);
    }
    while (words >> word)
      if (word.starts_with("slots=")) cpus = number_in(std::string_view(word).substr(6));
    if (!cpus || *cpus == 0 || name.empty())
      throw Error(ErrorKind::config,
                  fmt::format("{}: the line '{}' is no host, expected 'name', 'name slots=4' or "
                              "'name:4'",
                              file.string(), line));
    add_host(hosts, name, *cpus);
  }
  if (hosts.empty())
    throw Error(ErrorKind::config,
                fmt::format("{} is {}, which names no host", called, file.string()));
  return hosts;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Allocation read_slurm() {
  Allocation found{.source = "SLURM_JOB_NODELIST"};
  const std::string cpus = variable("SLURM_JOB_CPUS_PER_NODE");
  const std::vector<std::string> names = hosts_in(variable("SLURM_JOB_NODELIST"));
  const std::vector<std::size_t> counts =
      cpus.empty() ? std::vector<std::size_t>(names.size(), 0) : counts_in(cpus);
  if (counts.size() != names.size())
    throw Error(ErrorKind::config,
                fmt::format("SLURM_JOB_NODELIST has {} hosts, but SLURM_JOB_CPUS_PER_NODE ({}) {} "
                            "numbers",
                            names.size(), cpus, counts.size()));
  for (std::size_t i = 0; i < names.size(); ++i) found.hosts.push_back({names[i], counts[i]});
  found.cpus_per_rank = number_in(variable("SLURM_CPUS_PER_TASK")).value_or(0);
  return found;
}

std::string own_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::size_t own_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max<std::size_t>(1, static_cast<std::size_t>(CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

bool Allocation::on_other_nodes() const {
  if (source.empty()) return false;
  const auto first_word = [](const std::string& name) { return name.substr(0, name.find('.')); };
  const std::string own = first_word(own_name()), node = variable("SLURMD_NODENAME");
  return std::ranges::any_of(hosts, [&](const Host& host) {
    return host.name != "localhost" && first_word(host.name) != own && host.name != node;
  });
}

std::string Allocation::text() const {
  std::size_t cpus = 0;
  for (const Host& host : hosts) cpus += host.cpus;
  if (source.empty()) return fmt::format("this machine with {} CPUs", cpus);
  return fmt::format("{} with {} CPUs ({})",
                     hosts.size() == 1 ? "1 host" : fmt::format("{} hosts", hosts.size()), cpus,
                     source);
}

Allocation read_allocation(const std::filesystem::path& host_file) {
  if (!host_file.empty())
    return {.source = host_file.string(), .hosts = hosts_in_file(host_file, "hosts")};
  if (!variable("SLURM_JOB_NODELIST").empty()) return read_slurm();
  if (const std::string file = variable("PBS_NODEFILE"); !file.empty())
    return {.source = "PBS_NODEFILE", .hosts = hosts_in_file(file, "PBS_NODEFILE")};
  return {.hosts = {{own_name(), own_cores()}}};
}

std::vector<std::string> hosts_in(std::string_view list) {
  std::vector<std::string> hosts;
  for (const std::string_view part : parts_of(list)) {
    if (part.empty()) no_list("the list of hosts", list, "no empty name in it");
    const std::vector<std::string> more = hosts_of_part(part, list);
    hosts.insert(hosts.end(), more.begin(), more.end());
  }
  return hosts;
}

std::vector<std::size_t> counts_in(std::string_view list) {
  std::vector<std::size_t> counts;
  for (std::string_view part : parts_of(list)) {
    std::size_t times = 1;
    if (const std::size_t open = part.find("(x"); open != std::string_view::npos) {
      const std::string_view inside = part.substr(open + 2);
      times =
          inside.ends_with(')') ? number_in(inside.substr(0, inside.size() - 1)).value_or(0) : 0;
      part = part.substr(0, open);
    }
    const auto count = number_in(part);
    if (!count || times == 0 || times > kHostsMost)
      no_list("the list of CPUs", list, "numbers such as 2(x3),1");
    counts.insert(counts.end(), times, *count);
  }
  return counts;
}

std::vector<std::vector<std::string>> places_in(const Allocation& allocation, std::size_t ranks,
                                                std::size_t nodes) {
  const std::size_t on_each = (ranks + nodes - 1) / nodes;
  const std::size_t cpus =
      on_each * std::clamp<std::size_t>(allocation.cpus_per_rank, 1, kHostsMost);
  // How many slots a host still takes part in, and which it is; the earlier one of equals first.
  std::priority_queue<std::pair<std::size_t, std::ptrdiff_t>> room;
  for (std::size_t i = 0; i < allocation.hosts.size(); ++i)
    if (const std::size_t slots = allocation.hosts[i].cpus / cpus; slots > 0)
      room.emplace(slots, -static_cast<std::ptrdiff_t>(i));
  std::vector<std::vector<std::string>> places;
  while (room.size() >= nodes && places.size() < kSlotsMost) {
    std::vector<std::pair<std::size_t, std::ptrdiff_t>> chosen;
    for (; chosen.size() < nodes; room.pop()) chosen.push_back(room.top());
    std::ranges::sort(chosen, std::greater{}, [](const auto& host) { return host.second; });
    std::vector<std::string>& place = places.emplace_back();
    for (const auto& [slots, host] : chosen) {
      place.push_back(allocation.hosts[static_cast<std::size_t>(-host)].name);
      if (slots > 1) room.emplace(slots - 1, host);
    }
  }
  return places;
}

}  // namespace stap
