#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "stap/report/chart.h"

namespace stap {

/// Points (1/72 inch), the unit of all drawings.
inline constexpr double kPointsPerMm = 72 / 25.4;

/// A coordinate: two decimals at most, no exponent. `value` is finite.
std::string coordinate(double value);

/// About how wide a text is, in the font of the drawings; rather too wide than too narrow.
double text_width(std::string_view text, double font);
/// The text, or as much of its beginning as fits, with an ellipsis.
std::string shortened(std::string_view text, double width, double font);

enum class Anchor { start, middle, end };

/// A drawing on its way. Texts and attributes are escaped here.
class Svg {
 public:
  Svg(double width, double height, const FigureStyle& style, std::string_view title,
      std::string_view description);

  /// Raw XML: shapes whose numbers come from coordinate().
  void add(std::string_view xml) { body_ += xml; }
  void line(double x1, double y1, double x2, double y2, std::string_view attributes);
  void rectangle(double x, double y, double width, double height, std::string_view attributes);
  /// y is that of the middle of small letters and digits. `attributes` are raw.
  void text(double x, double y, Anchor anchor, std::string_view text,
            std::string_view attributes = {});
  /// The same of a text that stands for a longer one, which is there to look up.
  void cut_text(double x, double y, Anchor anchor, std::string_view text, std::string_view whole);
  /// Read from below.
  void upright_text(double x, double y, std::string_view text);
  void image(double x, double y, double width, double height, std::string_view uri);

  double font() const { return font_; }
  std::string finish() &&;

 private:
  double font_;
  std::string body_;
};

}  // namespace stap
