// Text for people within a number of columns.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/results/text_style.h"

namespace stap {

enum class Paint { plain, bold, dim, green, red };

/// Printable (stap/core/shown_text.h), and on one line: a name in a configuration must not move the
/// cursor.
std::string one_line(std::string_view text);
std::string painted(std::string_view text, Paint paint, const TextStyle& style);

struct TextCell {
  std::string text;
  Paint paint = Paint::plain;
};
struct TextColumn {
  std::string head;
  std::vector<TextCell> cells;  ///< as many as there are labels
  bool left = false;            ///< where its cells stand; numbers stand on the right
};

/// A table. Columns that do not fit beside each other go below, with the labels again; labels that
/// leave little room have lines of their own.
std::string laid_out(const std::string& corner, std::span<const std::string> labels,
                     std::span<const TextColumn> columns, const TextStyle& style);

/// A mean and what stands behind its ±; NaN, or infinite: there is none.
struct Spread {
  double mean, spread;
};
/// "-3.674 ± 0.071", with the same number of characters before and behind each ±. A mean that is
/// not finite is an empty text.
std::vector<std::string> with_spreads(std::span<const Spread> values);

/// Positive numbers with one number of decimals, so that the smallest has four digits (six decimals
/// at most), and divided by one power of ten where they are very small or very large. Each has its
/// own power where they are too far apart for that. What is not finite is an empty text.
struct OneScale {
  std::vector<std::string> texts;
  int exponent = 0;
};
OneScale on_one_scale(std::span<const double> values);

/// For each list a line of as many bars, at most 24, lower for lower values, by logarithm and on
/// one scale for all lists. '!' stands for what is not finite.
std::vector<std::string> sparklines(std::span<const std::vector<double>> lists);

}  // namespace stap
