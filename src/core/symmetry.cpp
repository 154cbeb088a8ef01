#include "stap/core/symmetry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"

namespace stap {
namespace {

constexpr std::string_view kAxisNames[] = {"x", "y"};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// "a + b", "a - b", "-a": terms with their signs. Nothing if there is an empty one.
struct Term {
  std::string_view text;
  bool minus;
};
std::vector<Term> split_terms(std::string_view text) {
  std::vector<Term> terms;
  std::size_t begin = 0;
  bool minus = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool ends = i == text.size();
    if (!ends && text[i] != '+' && text[i] != '-') continue;
    const std::string_view term = trimmed(text.substr(begin, i - begin));
    if (!term.empty())
      terms.push_back({term, minus});
    else if (ends || !terms.empty() || begin > 0)
      return {};
    if (!ends) minus = text[i] == '-';
    begin = i + 1;
  }
  return terms;
}

// "0.25" or "1/4".
std::optional<double> read_part(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<double> {
    double value = 0.0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(value))
      return std::nullopt;
    return value;
  };
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return number(text);
  const auto above = number(trimmed(text.substr(0, slash)));
  const auto below = number(trimmed(text.substr(slash + 1)));
  if (!above || !below || !(*below > 0)) return std::nullopt;
  return *above / *below;
}

// Changes nothing.
Symmetry identity(const Grid& grid) {
  Symmetry map;
  for (std::size_t a = 0; a < grid.axes(); ++a) map.axes.push_back({a});
  for (std::size_t c = 0; c < grid.channels; ++c) map.channels.push_back({c});
  return map;
}

class Parser {
 public:
  Parser(std::string_view text, const Grid& grid, const std::vector<std::string>& channels)
      : text_(text), grid_(grid), names_(channels), map_(identity(grid)) {}

  Symmetry parse() {
    std::string_view rest = text_;
    for (bool last = false; !last;) {
      const auto comma = rest.find(',');
      last = comma == std::string_view::npos;
      add(trimmed(rest.substr(0, comma)));
      if (!last) rest.remove_prefix(comma + 1);
    }
    check_permutation(map_.axes, "axis");
    check_permutation(map_.channels, "channel");
    for (std::size_t a = 0; a < grid_.axes(); ++a) {
      const std::size_t from = map_.axes[a].from;
      if (grid_.points[a] != grid_.points[from] || grid_.lengths[a] != grid_.lengths[from])
        complain(
            fmt::format("{} has {} points over {:g} and {} {} over {:g}, so that they cannot "
                        "stand in each other's place",
                        kAxisNames[a], grid_.points[a], grid_.lengths[a], kAxisNames[from],
                        grid_.points[from], grid_.lengths[from]));
    }
    return std::move(map_);
  }

 private:
  [[noreturn]] void complain(const std::string& why) const {
    throw Error(ErrorKind::config,
                fmt::format("\"{}\" is no symmetry of these states: {}", text_, why));
  }

  std::optional<std::size_t> axis(std::string_view name) const {
    for (std::size_t a = 0; a < grid_.axes(); ++a)
      if (name == kAxisNames[a]) return a;
    return std::nullopt;
  }
  std::optional<std::size_t> channel(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
  }

  void add(std::string_view part) {
    const auto arrow = part.find("->");
    if (arrow == std::string_view::npos)
      complain(fmt::format("expected parts like x -> -x, got \"{}\"", part));
    const std::string_view name = trimmed(part.substr(0, arrow));
    const std::string_view by = trimmed(part.substr(arrow + 2));
    if (std::ranges::find(named_, name) != named_.end())
      complain(fmt::format("{} is there twice", name));
    named_.push_back(name);
    if (const auto a = axis(name)) return add_axis(*a, by);
    if (name == "t") {
      if (!by.starts_with('-') || trimmed(by.substr(1)) != "t")
        complain(fmt::format("time can be turned round, t -> -t, and nothing else, got {}", by));
      map_.reversed = true;
      return;
    }
    if (const auto c = channel(name)) return add_channel(*c, by);
    complain(fmt::format("there is no {}; axes are {}, channels {}, and time is t", name,
                         fmt::join(kAxisNames, kAxisNames + grid_.axes(), ", "),
                         fmt::join(names_, ", ")));
  }

  void add_axis(std::size_t a, std::string_view by) {
    Symmetry::Axis& to = map_.axes[a];
    bool found = false;
    double shift = 0.0;
    for (const Term& term : split_terms(by)) {
      if (const auto from = axis(term.text)) {
        if (found) complain(fmt::format("{} are two axes", by));
        found = true;
        to.from = *from;
        to.minus = term.minus;
      } else if (const auto part = read_part(term.text)) {
        shift += term.minus ? -*part : *part;
      } else {
        complain(
            fmt::format("{} is no axis and no number, in the place of {}; parts are "
                        "separated by commas",
                        term.text, kAxisNames[a]));
      }
    }
    if (!found)
      complain(fmt::format("expected an axis in the place of {}, as in 1/4 - x, got \"{}\"",
                           kAxisNames[a], by));
    if (!(std::abs(shift) < 1))
      complain(
          fmt::format("a shift by {:g} is more than the axis: shifts are parts of its length, "
                      "1/2 for half of it",
                      shift));
    const auto points = static_cast<double>(grid_.points[a]);
    const double moved = (shift - std::floor(shift)) * points, whole = std::round(moved);
    if (std::abs(moved - whole) > 1e-6)
      complain(
          fmt::format("{:g} of the length of {} are {:g} of its {} points, expected a whole "
                      "number",
                      shift, kAxisNames[a], shift * points, grid_.points[a]));
    to.shift = static_cast<std::size_t>(whole) % grid_.points[a];
  }

  void add_channel(std::size_t c, std::string_view by) {
    const bool minus = by.starts_with('-');
    const std::string_view name = minus ? trimmed(by.substr(1)) : by;
    const auto from = channel(name);
    if (!from)
      complain(
          fmt::format("there is no channel {}, and channels may be swapped and change their "
                      "signs, no more",
                      name));
    map_.channels[c] = {*from, minus};
  }

  template <class Part>
  void check_permutation(const std::vector<Part>& parts, std::string_view what) const {
    std::vector<char> seen(parts.size());
    for (const Part& part : parts)
      if (std::exchange(seen[part.from], 1))
        complain(
            fmt::format("one {} stands in two places: say what takes its place, as in "
                        "x -> y, y -> x",
                        what));
  }

  std::string_view text_;
  const Grid& grid_;
  const std::vector<std::string>& names_;
  std::vector<std::string_view> named_;  // so far, on the left
  Symmetry map_;
};

// First `inner`, then `outer`.
Symmetry after(const Grid& grid, const Symmetry& outer, const Symmetry& inner) {
  Symmetry both;
  for (std::size_t a = 0; a < grid.axes(); ++a) {
    const Symmetry::Axis& i = inner.axes[a];
    const Symmetry::Axis& o = outer.axes[i.from];
    const std::size_t n = grid.points[a], moved = i.minus ? n - o.shift : o.shift;
    both.axes.push_back({o.from, o.minus != i.minus, (moved + i.shift) % n});
  }
  for (const Symmetry::Channel& o : outer.channels) {
    const Symmetry::Channel& i = inner.channels[o.from];
    both.channels.push_back({i.from, o.minus != i.minus});
  }
  both.reversed = outer.reversed != inner.reversed;
  return both;
}

}  // namespace

Symmetry parse_symmetry(std::string_view text, const Grid& grid,
                        const std::vector<std::string>& channels) {
  return Parser(text, grid, channels).parse();
}

std::vector<Symmetry> symmetry_group(const Grid& grid, const std::vector<Symmetry>& symmetries) {
  std::vector<Symmetry> group{identity(grid)};
  for (std::size_t next = 0; next < group.size(); ++next)
    for (const Symmetry& one : symmetries) {
      const Symmetry made = after(grid, one, group[next]);
      if (std::ranges::find(group, made) != group.end()) continue;
      if (group.size() == kMostSymmetries)
        throw Error(ErrorKind::config,
                    fmt::format("these symmetries make more than {} maps together: leave out "
                                "shifts by a few points, which networks know by themselves "
                                "(without position_input)",
                                kMostSymmetries));
      group.push_back(made);
    }
  return group;
}

StateMap make_state_map(const Symmetry& symmetry, const Grid& grid, std::size_t frames) {
  const std::size_t points = grid.points_total(), axes = grid.axes(), values = grid.values();
  if (values * frames > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw Error(ErrorKind::config,
                fmt::format("states of {} values are too large for symmetries", values * frames));
  StateMap map;
  map.reversed = symmetry.reversed;
  map.from.reserve(values * frames);
  std::vector<std::size_t> sources(points), at(axes);  // point by point: where its value comes from
  for (std::size_t p = 0; p < points; ++p) {
    for (std::size_t a = axes, rest = p; a-- > 0; rest /= grid.points[a])
      at[a] = rest % grid.points[a];
    std::size_t source = 0;
    for (std::size_t a = 0; a < axes; ++a) {
      const Symmetry::Axis& axis = symmetry.axes[a];
      const std::size_t n = grid.points[a], i = at[axis.from];
      source = source * n + ((axis.minus ? n - i : i) + axis.shift) % n;
    }
    sources[p] = source;
  }
  for (std::size_t f = 0; f < frames; ++f)
    for (const Symmetry::Channel& channel : symmetry.channels) {
      const std::size_t frame = symmetry.reversed ? frames - 1 - f : f;
      const std::size_t begin = frame * values + channel.from * points;
      for (const std::size_t source : sources) {
        const auto from = static_cast<std::int32_t>(begin + source);
        map.from.push_back(channel.minus ? -1 - from : from);
      }
    }
  return map;
}

std::vector<Symmetry> without_shifts(const std::vector<Symmetry>& symmetries) {
  std::vector<Symmetry> kinds, first;
  for (const Symmetry& symmetry : symmetries) {
    Symmetry kind = symmetry;
    for (Symmetry::Axis& axis : kind.axes) axis.shift = 0;
    if (std::ranges::find(kinds, kind) != kinds.end()) continue;
    kinds.push_back(std::move(kind));
    first.push_back(symmetry);
  }
  return first;
}

std::vector<Symmetry> parse_symmetries(const std::vector<std::string>& texts, const Grid& grid,
                                       const std::vector<std::string>& channels) {
  std::vector<Symmetry> stated;
  for (const std::string& text : texts) stated.push_back(parse_symmetry(text, grid, channels));
  return stated.empty() ? stated : symmetry_group(grid, stated);
}

std::vector<StateMap> make_state_maps(const std::vector<std::string>& texts, const Grid& grid,
                                      const std::vector<std::string>& channels,
                                      std::size_t frames) {
  std::vector<StateMap> maps;
  for (const Symmetry& symmetry : parse_symmetries(texts, grid, channels))
    maps.push_back(make_state_map(symmetry, grid, frames));
  return maps;
}

std::vector<Symmetry> with_images(std::vector<Symmetry> group, bool placed) {
  std::erase_if(group, [](const Symmetry& symmetry) { return symmetry.reversed; });
  // Other networks commute with shifts: images that differ by one say the same.
  if (!placed) group = without_shifts(group);
  if (group.size() < 2) group.clear();
  return group;
}

std::vector<StateMap> make_image_maps(const std::vector<std::string>& texts, const Grid& grid,
                                      const std::vector<std::string>& channels, std::size_t frames,
                                      bool placed) {
  std::vector<StateMap> maps;
  for (const Symmetry& symmetry : with_images(parse_symmetries(texts, grid, channels), placed))
    maps.push_back(make_state_map(symmetry, grid, frames));
  return maps;
}

}  // namespace stap
