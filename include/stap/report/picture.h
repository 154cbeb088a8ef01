#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stap/report/chart.h"

namespace stap {

/// Sequential: dark to light, readable in grey. Diverging: blue, white at the middle, red. Bought:
/// white to dark grey.
enum class Palette { sequential, diverging, bought };
using Colour = std::array<std::uint8_t, 3>;  ///< red, green, blue
/// 256 colours, all different, so that a script can read values back by colour. The last one, grey,
/// is kNoNumber's.
const std::array<Colour, 256>& palette_colours(Palette palette);

inline constexpr std::uint8_t kTopLevel = 254;  ///< stands for the highest value; 0 for the lowest
inline constexpr std::uint8_t kNoNumber = 255;  ///< stands for what is not finite

/// A picture of 8 bits a value: value v < 255 is low + v / 254 (high - low).
struct Picture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> values{};  ///< [height, width], the top row first
  double low = 0, high = 1;
  Palette palette = Palette::sequential;

  /// What a pixel stands for; NaN where it is no number.
  double value(std::size_t x, std::size_t y) const;
};
/// Rounds values [height, width], the top row first, to the nearest level; those outside are cut.
Picture make_picture(std::size_t width, std::size_t height, std::span<const float> values,
                     double low, double high, Palette palette);

/// Every pixel as several, so that viewers that smooth pictures show it as it is: at least this
/// wide and high.
Picture enlarged(const Picture& picture, std::size_t least);

/// A PNG file with the palette. Throws Error(internal) if there are not as many values as pixels.
std::string png_bytes(const Picture& picture);
/// "data:image/png;base64,...", for an <img> or <image>.
std::string data_uri(const Picture& picture);

/// A picture between axes.
struct PictureChart {
  struct Divider {
    double at;          ///< on the y axis
    std::string label;  ///< of what begins there
  };
  std::string title{}, note{};
  Axis x{}, y{};
  double x_low = 0, x_high = 1;  ///< at the picture's edges
  double y_low = 0, y_high = 1;  ///< of its bottom and top
  Picture picture{};
  std::vector<Divider> dividers{};  ///< lines across it; their labels in place of y's numbers
};
/// A complete <svg> element with the picture in it, as that of a Chart.
std::string svg_text(const PictureChart& chart, const FigureStyle& style);

}  // namespace stap
