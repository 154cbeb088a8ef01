// Colours: of groups of lines, and of pictures.
#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "stap/report/picture.h"

namespace stap {
namespace {

// Those of Okabe and Ito, which people with any kind of colour vision tell apart; their yellow,
// which is lost on white, is replaced by a dark one, and black by a grey that bands can be made of.
// Four more follow, for studies of many methods.
constexpr std::array<const char*, 12> kGroupColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                       "#333333", "#56B4E9", "#E69F00", "#7A6A00",
                                                       "#7B3FA0", "#8B4A2B", "#00838F", "#B3124E"};
// In widths of a line.
constexpr std::array<const char*, 6> kDashes = {
    "", "5 1.6", "1.6 1.4", "5 1.6 1.2 1.6", "8 1.6 1.2 1.6 1.2 1.6", "2.8 1.8"};

constexpr std::array<Colour, 7> kDarkToLight = {{{0x1a, 0x0b, 0x3b},
                                                 {0x3b, 0x2f, 0x80},
                                                 {0x2c, 0x64, 0x95},
                                                 {0x1f, 0x91, 0x8c},
                                                 {0x4c, 0xb8, 0x6c},
                                                 {0xa8, 0xd9, 0x4a},
                                                 {0xfb, 0xee, 0x6b}}};
constexpr std::array<Colour, 7> kBlueToRed = {{{0x0a, 0x2f, 0x73},
                                               {0x2f, 0x72, 0xc4},
                                               {0x9c, 0xc4, 0xea},
                                               {0xf8, 0xf8, 0xf8},
                                               {0xf3, 0xb8, 0x95},
                                               {0xd2, 0x57, 0x38},
                                               {0x7c, 0x0f, 0x14}}};
// No colour of a method.
constexpr std::array<Colour, 2> kWhiteToInk = {{{0xff, 0xff, 0xff}, {0x2b, 0x30, 0x38}}};
constexpr Colour kGrey = {0x80, 0x80, 0x80};

std::uint8_t between(std::uint8_t a, std::uint8_t b, double part) {
  return static_cast<std::uint8_t>(std::lround(a + part * (b - a)));
}

// Colours evenly spaced along the anchors. Neighbours that rounding made equal are moved apart by a
// step of blue, which nobody sees.
std::array<Colour, 256> along(std::span<const Colour> anchors) {
  std::array<Colour, 256> colours{};
  std::set<Colour> used = {kGrey};
  const double pieces = static_cast<double>(anchors.size() - 1);
  for (std::size_t i = 0; i <= kTopLevel; ++i) {
    const double place = static_cast<double>(i) / kTopLevel * pieces;
    const auto piece = std::min(static_cast<std::size_t>(place), anchors.size() - 2);
    const double part = place - static_cast<double>(piece);
    Colour& c = colours[i];
    for (std::size_t k = 0; k < c.size(); ++k)
      c[k] = between(anchors[piece][k], anchors[piece + 1][k], part);
    while (!used.insert(c).second) c[2] = static_cast<std::uint8_t>(c[2] + (c[2] < 128 ? 1 : -1));
  }
  colours[kNoNumber] = kGrey;
  return colours;
}

}  // namespace

std::string group_colour(std::size_t group) {
  if (group >= kNoMethod) return group == kNoMethod ? "#9aa1ab" : "#5b616b";
  return kGroupColours[group % kGroupColours.size()];
}

std::string group_dashes(std::size_t group) {
  return kDashes[(group + group / kGroupColours.size()) % kDashes.size()];
}

const std::array<Colour, 256>& palette_colours(Palette palette) {
  static const std::array<Colour, 256> sequential = along(kDarkToLight);
  static const std::array<Colour, 256> diverging = along(kBlueToRed);
  static const std::array<Colour, 256> bought = along(kWhiteToInk);
  switch (palette) {
    case Palette::sequential:
      return sequential;
    case Palette::diverging:
      return diverging;
    case Palette::bought:
      return bought;
  }
  return sequential;
}

}  // namespace stap
