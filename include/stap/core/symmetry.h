#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stap/core/grid.h"

namespace stap {

/// A map of states under which a problem stays what it is: if a step leads from u to v, it leads
/// from the image of u to that of v. The image is (g u)_c(p) = s_c u_c'(T p), T p an axis, sign and
/// shift for every axis.
struct Symmetry {
  struct Axis {
    std::size_t from = 0;  ///< the axis of p that this one of T p comes from
    bool minus = false;
    std::size_t shift = 0;  ///< points, added behind the sign

    bool operator==(const Axis&) const = default;
  };
  struct Channel {
    std::size_t from = 0;
    bool minus = false;

    bool operator==(const Channel&) const = default;
  };

  std::vector<Axis> axes;           ///< of T p
  std::vector<Channel> channels;    ///< of the image
  bool reversed = false;            ///< time goes backwards: a step leads from g v to g u
  std::vector<Channel> parameters;  ///< of the image's condition, likewise

  bool operator==(const Symmetry&) const = default;
};

/// The one that changes nothing. `parameters`: how many vary.
Symmetry identity_symmetry(const Grid& grid, std::size_t parameters = 0);

/// Most maps that the symmetries of a problem may make together.
inline constexpr std::size_t kMostSymmetries = 64;

/// "x -> -x, u -> -u": what stands in the place of what, for axes (x, y), channels and parameters
/// that vary (by name) and time (t -> -t); what is not named stays. An axis may be shifted by a
/// part of its length that is a whole number of points: "x -> 1/4 - x". Between walls x -> -x is
/// the mirror about the middle, and there is no other. Throws Error(config) for what is no map of
/// these states.
Symmetry parse_symmetry(std::string_view text, const Grid& grid,
                        const std::vector<std::string>& channels,
                        const std::vector<std::string>& parameters = {});

/// All maps that these make by doing one after the other, the one that changes nothing first.
/// Throws Error(config) if they are more than kMostSymmetries.
std::vector<Symmetry> symmetry_group(const Grid& grid, const std::vector<Symmetry>& symmetries);

/// The whole group that these texts state; none of no text. Throws Error(config).
std::vector<Symmetry> parse_symmetries(const std::vector<std::string>& texts, const Grid& grid,
                                       const std::vector<std::string>& channels,
                                       const std::vector<std::string>& parameters = {});

/// The first of each kind: of those that differ by shifts alone one is left.
std::vector<Symmetry> without_shifts(const std::vector<Symmetry>& symmetries);

/// A symmetry as it acts on the values of a state, or of a cluster of states.
struct StateMap {
  /// Value v of the image is the state's value from[v], or, where that is below 0, minus the one at
  /// -1 - from[v].
  std::vector<std::int32_t> from;
  bool reversed = false;                   ///< a transition (u, v) becomes (image of v, image of u)
  std::vector<std::int32_t> parameters{};  ///< the same of those of its condition; none: they stay
};

/// For clusters of `frames` states of the grid, whose order time turns round.
StateMap make_state_map(const Symmetry& symmetry, const Grid& grid, std::size_t frames = 1);

/// The maps of parse_symmetries(), on clusters of `frames` states. Throws Error(config).
std::vector<StateMap> make_state_maps(const std::vector<std::string>& texts, const Grid& grid,
                                      const std::vector<std::string>& channels,
                                      std::size_t frames = 1,
                                      const std::vector<std::string>& parameters = {});

/// The maps of a group over whose images a prediction may average: those that do not turn time
/// round, and of those that differ by shifts alone one, unless networks are `placed`, told where a
/// point is. None if there is but the one that changes nothing.
std::vector<Symmetry> with_images(std::vector<Symmetry> group, bool placed);
/// Those of parse_symmetries(), on clusters of `frames` states. Throws Error(config).
std::vector<StateMap> make_image_maps(const std::vector<std::string>& texts, const Grid& grid,
                                      const std::vector<std::string>& channels, std::size_t frames,
                                      bool placed, const std::vector<std::string>& parameters = {});

template <class T>
void map_values(const std::vector<std::int32_t>& map, const T* values, T* image) {
  for (std::size_t v = 0; v < map.size(); ++v) {
    const std::int32_t from = map[v];
    image[v] = from < 0 ? -values[-1 - from] : values[from];
  }
}
/// The image of a state; it must not be the state itself.
template <class T>
void map_state(const StateMap& map, const T* state, T* image) {
  map_values(map.from, state, image);
}
/// The way back: adds to `sum` the state that `image` is the image of.
template <class T>
void add_mapped_back(const StateMap& map, const T* image, double* sum) {
  for (std::size_t v = 0; v < map.from.size(); ++v) {
    const std::int32_t from = map.from[v];
    const auto value = static_cast<double>(image[v]);
    from < 0 ? sum[-1 - from] -= value : sum[from] += value;
  }
}

}  // namespace stap
