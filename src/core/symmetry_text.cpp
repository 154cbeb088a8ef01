#include "stap/core/symmetry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
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

class Parser {
 public:
  Parser(std::string_view text, const Grid& grid, const std::vector<std::string>& channels,
         const std::vector<std::string>& parameters)
      : text_(text),
        grid_(grid),
        names_(channels),
        parameters_(parameters),
        map_(identity_symmetry(grid, parameters.size())) {}

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
    check_permutation(map_.parameters, "parameter");
    for (std::size_t a = 0; a < grid_.axes(); ++a) {
      const std::size_t from = map_.axes[a].from;
      if (grid_.end(a) != grid_.end(from))
        complain(
            fmt::format("{} and {} end differently, so that they cannot stand in each other's "
                        "place: one has walls where the other is periodic, or other points",
                        kAxisNames[a], kAxisNames[from]));
      if (grid_.end(a) != Boundary::periodic) check_walls(a);
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
  static std::optional<std::size_t> among(const std::vector<std::string>& names,
                                          std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
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
    if (const auto c = among(names_, name))
      return add_named(map_.channels[*c], names_, "channel", by);
    if (const auto p = among(parameters_, name))
      return add_named(map_.parameters[*p], parameters_, "parameter", by);
    complain(
        fmt::format("there is no {}; axes are {}, channels {}{}, and time is t", name,
                    fmt::join(kAxisNames, kAxisNames + grid_.axes(), ", "), fmt::join(names_, ", "),
                    parameters_.empty()
                        ? ""
                        : fmt::format(", parameters that vary {}", fmt::join(parameters_, ", "))));
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
            fmt::format("{} is neither an axis nor a number, given for {}; parts are "
                        "separated by commas",
                        term.text, kAxisNames[a]));
      }
    }
    if (!found)
      complain(
          fmt::format("expected an axis for {}, as in 1/4 - x, got \"{}\"", kAxisNames[a], by));
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

  void add_named(Symmetry::Channel& to, const std::vector<std::string>& names, const char* what,
                 std::string_view by) const {
    const bool minus = by.starts_with('-');
    const std::string_view name = minus ? trimmed(by.substr(1)) : by;
    const auto from = among(names, name);
    if (!from)
      complain(fmt::format("there is no {0} {1}; {0}s may only be swapped and change their signs",
                           what, name));
    to = {*from, minus};
  }

  // Walls stay where they are: of mirrors there is the one about the middle, which x -> -x means.
  void check_walls(std::size_t a) {
    Symmetry::Axis& to = map_.axes[a];
    const std::size_t middle = grid_.points[a] - 1;
    if (to.minus && to.shift == 0) to.shift = middle;
    if (to.shift != (to.minus ? middle : 0))
      complain(
          fmt::format("{} has walls, which a shift would move; its one mirror is {} -> -{}, "
                      "about the middle between them",
                      kAxisNames[a], kAxisNames[a], kAxisNames[to.from]));
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
  const std::vector<std::string>&names_, &parameters_;
  std::vector<std::string_view> named_;  // so far, on the left
  Symmetry map_;
};

}  // namespace

Symmetry parse_symmetry(std::string_view text, const Grid& grid,
                        const std::vector<std::string>& channels,
                        const std::vector<std::string>& parameters) {
  return Parser(text, grid, channels, parameters).parse();
}

}  // namespace stap
