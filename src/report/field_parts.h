// Pieces of drawings of trajectories.
#pragma once

#include <cstddef>
#include <vector>

#include "report/svg.h"
#include "stap/report/field.h"

namespace stap {

/// The tile of a time, as a picture of its own; 1-D: all of it.
Picture tile(const Picture& all, const Field& field, std::size_t index);

/// All levels from left to right, and what its ends stand for.
void draw_colour_bar(Svg& svg, double left, double right, double y, const Picture& of,
                     double height);

/// The frames of a 2-D field that are drawn where nothing moves: the first, some between, the last.
std::vector<std::size_t> still_frames(const Field& field);
/// Those tiles side by side in one picture, `still_gap` columns between two.
Picture still_strip(const Picture& all, const Field& field);
std::size_t still_gap(const Field& field);

/// A channel of a 2-D field at a few times: truth, prediction and error below each other, the time
/// under every frame.
std::string stills_svg(const Field& field, std::size_t channel, const FigureStyle& style);

}  // namespace stap
