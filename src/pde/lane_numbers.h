// Numbers of an equation that may vary from row to row, for the lanes of a block.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pde/lane_end.h"
#include "stap/config/quantity.h"
#include "stap/core/query.h"

namespace stap {

/// One number for each lane.
struct LaneNumber {
  alignas(64) double lane[kMaxLanes];
};

/// Takes the numbers of an equation, in the order of its parameters; lanes without a row repeat
/// row 0.
class LaneNumbers {
 public:
  explicit LaneNumbers(std::span<const Query* const> rows) : rows_(rows) {}

  LaneNumber next(const config::Quantity& quantity) {
    LaneNumber number;
    for (std::size_t r = 0; r < kMaxLanes; ++r)
      number.lane[r] =
          quantity.draw ? rows_[r < rows_.size() ? r : 0]->params[varied_] : quantity.value;
    varied_ += quantity.draw ? 1 : 0;
    return number;
  }

 private:
  std::span<const Query* const> rows_;
  std::size_t varied_ = 0;
};

using NamedQuantities = std::initializer_list<std::pair<const char*, const config::Quantity*>>;

/// Why a query in which one of the first parameters is negative must not be computed; empty if none
/// is.
inline std::string refusal_of_negative(const Query& query, NamedQuantities first) {
  const Query* const one[] = {&query};
  LaneNumbers numbers(one);
  for (const auto& [name, quantity] : first)
    if (const double value = numbers.next(*quantity).lane[0]; !(value >= 0.0))
      return fmt::format("{} is {:g}, expected 0 or more", name, value);
  return {};
}

/// The draws of those that vary, under their names.
inline std::vector<ParameterDraw> draws_of(NamedQuantities quantities) {
  std::vector<ParameterDraw> draws;
  for (const auto& [name, quantity] : quantities) {
    if (!quantity->draw) continue;
    draws.push_back(*quantity->draw);
    draws.back().name = name;
  }
  return draws;
}

}  // namespace stap
