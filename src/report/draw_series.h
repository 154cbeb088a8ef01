// What is drawn of a series.
#pragma once

#include <cstddef>

#include "report/legend.h"

namespace stap {

/// Values that have both coordinates.
std::size_t length_of(const Series& series);
bool has_band(const Series& series);
/// Whether the axes can show value i.
bool is_shown(const Series& series, std::size_t i, bool x_log, bool y_log);

/// Whether this end of a band lies where no axis reaches: infinite, or not above 0 on a logarithmic
/// one.
bool is_open(double end, bool y_log);

void draw_band(Svg& svg, const Frame& frame, const Series& series, double opacity);
void draw_line(Svg& svg, const Frame& frame, const Series& series);
/// Marks and, where there is a band, whiskers.
void draw_points(Svg& svg, const Frame& frame, const Series& series);
/// Number `place` of `places` bars side by side at every x.
void draw_bars(Svg& svg, const Frame& frame, const Series& series, std::size_t place,
               std::size_t places);
/// Cut at the frame, which guides may leave.
void draw_guide(Svg& svg, const Frame& frame, const Series& series);

}  // namespace stap
