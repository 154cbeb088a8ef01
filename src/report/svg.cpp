#include "report/svg.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/html.h"

namespace stap {
namespace {

constexpr const char* kFontFamily = "Helvetica, Arial, 'Liberation Sans', sans-serif";

// In parts of the font size, by the measures of Helvetica.
double character_width(unsigned char c) {
  constexpr std::string_view kNarrow = "iIl.,:;'|!jft()[]/ -", kWide = "mwMW%@+=<>~";
  if (c >= 0x80) return 0.6;
  if (kNarrow.find(static_cast<char>(c)) != std::string_view::npos) return 0.32;
  if (kWide.find(static_cast<char>(c)) != std::string_view::npos) return 0.8;
  return c >= 'A' && c <= 'Z' ? 0.7 : 0.556;
}

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
}

}  // namespace

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

double text_width(std::string_view text, double font) {
  double width = 0;
  for (const char c : text)
    if (begins_character(c)) width += character_width(static_cast<unsigned char>(c));
  return 1.04 * width * font;
}

std::string shortened(std::string_view text, double width, double font) {
  if (text_width(text, font) <= width) return std::string(text);
  const double most = width - text_width("…", font);
  std::size_t end = 0;
  double used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!begins_character(text[i])) continue;
    used += 1.04 * character_width(static_cast<unsigned char>(text[i])) * font;
    end = i;
    if (used > most) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

Svg::Svg(double width, double height, const FigureStyle& style, std::string_view title,
         std::string_view description)
    : font_(style.font_pt) {
  const std::string size =
      style.page ? std::string("width=\"100%\"")
                 : fmt::format("width=\"{}mm\" height=\"{}mm\"", coordinate(width / kPointsPerMm),
                               coordinate(height / kPointsPerMm));
  body_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" {} viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\" class=\"figure\" font-family=\"{}\" "
      "font-size=\"{}\">\n<title>{}</title>\n",
      size, coordinate(width), coordinate(height), escaped(title), kFontFamily, coordinate(font_),
      escaped(title));
  if (!description.empty()) body_ += fmt::format("<desc>{}</desc>\n", escaped(description));
  // Viewers with a dark background show what has none of its own black on black.
  if (!style.page) rectangle(0, 0, width, height, "class=\"paper\" fill=\"#ffffff\"");
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", coordinate(x1),
                       coordinate(y1), coordinate(x2), coordinate(y2), attributes);
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view attributes) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", coordinate(x),
                       coordinate(y), coordinate(width), coordinate(height), attributes);
}

void Svg::text(double x, double y, Anchor anchor, std::string_view text,
               std::string_view attributes) {
  if (text.empty()) return;
  const char* anchored = anchor == Anchor::start    ? ""
                         : anchor == Anchor::middle ? " text-anchor=\"middle\""
                                                    : " text-anchor=\"end\"";
  // Not every program knows dominant-baseline, so the baseline is placed here.
  body_ += fmt::format("<text x=\"{}\" y=\"{}\"{} class=\"text\" fill=\"#222222\"{}{}>{}</text>\n",
                       coordinate(x), coordinate(y + 0.35 * font_), anchored,
                       attributes.empty() ? "" : " ", attributes, escaped(text));
}

void Svg::cut_text(double x, double y, Anchor anchor, std::string_view shown,
                   std::string_view whole) {
  text(x, y, anchor, shown);
  constexpr std::string_view kEnd = "</text>\n";
  if (shown == whole || !body_.ends_with(kEnd)) return;
  body_.resize(body_.size() - kEnd.size());
  body_ += fmt::format("<title>{}</title>{}", escaped(whole), kEnd);
}

void Svg::upright_text(double x, double y, std::string_view text) {
  if (text.empty()) return;
  body_ += fmt::format(
      "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\" class=\"text\" "
      "fill=\"#222222\">{}</text>\n",
      coordinate(x + 0.35 * font_), coordinate(y), escaped(text));
}

void Svg::image(double x, double y, double width, double height, std::string_view uri) {
  body_ += fmt::format(
      "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
      "image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\" href=\"{}\"/>\n",
      coordinate(x), coordinate(y), coordinate(width), coordinate(height), uri);
}

std::string Svg::finish() && {
  body_ += "</svg>\n";
  return std::move(body_);
}

}  // namespace stap
