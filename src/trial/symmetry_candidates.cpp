// What is worth trying on a solver whose equation nobody told us.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/trial/symmetry_search.h"

namespace stap {
namespace {

using Changes = std::vector<std::string>;  // that make a symmetry: "x -> -x"

// Channels of which every pattern of signs is tried, with mirrors and with time turned round.
constexpr std::size_t kAllSigns = 4, kAllSignsOfTime = 3;

// The channels that change their sign: none, then each, then more of them.
std::vector<Changes> sign_patterns(const Changes& channels) {
  const std::size_t n = channels.size();
  std::vector<Changes> patterns{{}};
  const auto add = [&](auto&& chosen) {
    Changes& parts = patterns.emplace_back();
    for (std::size_t c = 0; c < n; ++c)
      if (chosen(c)) parts.push_back(fmt::format("{0} -> -{0}", channels[c]));
  };
  for (std::size_t one = 0; one < n; ++one) add([&](std::size_t c) { return c == one; });
  if (n <= kAllSigns) {
    for (std::size_t mask = 0; mask < std::size_t{1} << n; ++mask)
      if ((mask & (mask - 1)) != 0) add([&](std::size_t c) { return (mask >> c & 1) != 0; });
    std::ranges::stable_sort(patterns, {}, &Changes::size);
  } else {
    add([](std::size_t) { return true; });
  }
  return patterns;
}

// None, all, and each where there are not many.
std::vector<Changes> few_patterns(const Changes& channels) {
  std::vector<Changes> patterns;
  for (Changes& signs : sign_patterns(channels))
    if (signs.empty() || signs.size() == channels.size() ||
        (signs.size() == 1 && channels.size() <= kAllSigns))
      patterns.push_back(std::move(signs));
  return patterns;
}

// a in the place of b and the other way round.
Changes swapped(const std::string& a, const std::string& b, const char* sign = "") {
  return {fmt::format("{} -> {}{}", a, sign, b), fmt::format("{} -> {}{}", b, sign, a)};
}

// Channels as they are or two of them swapped, with no sign or all.
std::vector<Changes> channel_swaps(const Changes& channels) {
  std::vector<Changes> all;
  const auto add = [&](std::size_t i, std::size_t k) {
    for (const char* sign : {"", "-"}) {
      Changes parts;
      if (i != k) parts = swapped(channels[i], channels[k], sign);
      for (std::size_t c = 0; *sign != '\0' && c < channels.size(); ++c)
        if (i == k || (c != i && c != k)) parts.push_back(fmt::format("{0} -> -{0}", channels[c]));
      all.push_back(std::move(parts));
    }
  };
  add(0, 0);
  for (std::size_t i = 0; i < channels.size(); ++i)
    for (std::size_t k = i + 1; k < channels.size(); ++k) add(i, k);
  return all;
}

}  // namespace

std::vector<std::string> symmetry_candidates(const Grid& grid,
                                             const std::vector<std::string>& channels) {
  const bool plane = grid.axes() > 1;
  Changes named;  // a reader takes the others for axes or time
  for (const std::string& name : channels)
    if (name != "x" && name != "t" && !(plane && name == "y") && !name.starts_with('-'))
      named.push_back(name);

  std::vector<std::string> all;
  const auto add = [&](Changes parts, const Changes& more, const char* last = nullptr) {
    parts.insert(parts.end(), more.begin(), more.end());
    if (last != nullptr) parts.emplace_back(last);
    std::string text = fmt::format("{}", fmt::join(parts, ", "));
    if (!text.empty() && std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
  };
  for (const Changes& signs : few_patterns(named)) add({}, signs);
  std::vector<Changes> mirrors{Changes{"x -> -x"}};
  if (plane) mirrors.insert(mirrors.end(), {Changes{"y -> -y"}, Changes{"x -> -x", "y -> -y"}});
  for (const Changes& mirror : mirrors)
    for (const Changes& signs : sign_patterns(named)) add(mirror, signs);
  if (plane && grid.points[0] == grid.points[1] && grid.lengths[0] == grid.lengths[1])
    for (const Changes& swap : channel_swaps(named)) add(swapped("x", "y"), swap);
  const bool few = named.size() > kAllSignsOfTime;
  for (const Changes& mirror : {Changes{}, mirrors.back()})
    for (const Changes& signs : few ? few_patterns(named) : sign_patterns(named))
      add(mirror, signs, "t -> -t");
  return all;
}

}  // namespace stap
