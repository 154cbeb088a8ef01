#include "stap/core/symmetry.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

// First `inner`, then `outer`.
Symmetry after(const Grid& grid, const Symmetry& outer, const Symmetry& inner) {
  Symmetry both;
  for (std::size_t a = 0; a < grid.axes(); ++a) {
    const Symmetry::Axis& i = inner.axes[a];
    const Symmetry::Axis& o = outer.axes[i.from];
    const std::size_t n = grid.points[a], moved = i.minus ? n - o.shift : o.shift;
    both.axes.push_back({o.from, o.minus != i.minus, (moved + i.shift) % n});
  }
  for (const auto part : {&Symmetry::channels, &Symmetry::parameters})
    for (const Symmetry::Channel& o : outer.*part) {
      const Symmetry::Channel& i = (inner.*part)[o.from];
      (both.*part).push_back({i.from, o.minus != i.minus});
    }
  both.reversed = outer.reversed != inner.reversed;
  return both;
}

}  // namespace

Symmetry identity_symmetry(const Grid& grid, std::size_t parameters) {
  Symmetry map;
  for (std::size_t a = 0; a < grid.axes(); ++a) map.axes.push_back({a});
  for (std::size_t c = 0; c < grid.channels; ++c) map.channels.push_back({c});
  for (std::size_t p = 0; p < parameters; ++p) map.parameters.push_back({p});
  return map;
}

std::vector<Symmetry> symmetry_group(const Grid& grid, const std::vector<Symmetry>& symmetries) {
  std::vector<Symmetry> group{
      identity_symmetry(grid, symmetries.empty() ? 0 : symmetries[0].parameters.size())};
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
  for (const Symmetry::Channel& parameter : symmetry.parameters) {
    const auto from = static_cast<std::int32_t>(parameter.from);
    map.parameters.push_back(parameter.minus ? -1 - from : from);
  }
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
                                       const std::vector<std::string>& channels,
                                       const std::vector<std::string>& parameters) {
  std::vector<Symmetry> stated;
  for (const std::string& text : texts)
    stated.push_back(parse_symmetry(text, grid, channels, parameters));
  return stated.empty() ? stated : symmetry_group(grid, stated);
}

std::vector<StateMap> make_state_maps(const std::vector<std::string>& texts, const Grid& grid,
                                      const std::vector<std::string>& channels, std::size_t frames,
                                      const std::vector<std::string>& parameters) {
  std::vector<StateMap> maps;
  for (const Symmetry& symmetry : parse_symmetries(texts, grid, channels, parameters))
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
                                      bool placed, const std::vector<std::string>& parameters) {
  std::vector<StateMap> maps;
  for (const Symmetry& symmetry :
       with_images(parse_symmetries(texts, grid, channels, parameters), placed))
    maps.push_back(make_state_map(symmetry, grid, frames));
  return maps;
}

}  // namespace stap
