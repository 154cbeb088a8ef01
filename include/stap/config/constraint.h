#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stap::config {

/// What values a field may take. For lists the range holds for every element.
struct Constraint {
  std::optional<double> low, high;
  bool low_open = false, high_open = false;  ///< the end itself is not allowed
  std::uint64_t multiple = 1;                ///< integers only
  std::size_t min_length = 0;                ///< lists
  std::size_t max_length = std::numeric_limits<std::size_t>::max();
  /// Name and code (enums). Of an integer: words that stand for a number (or_word); of Arguments:
  /// words that may be given instead of a list, and are read as a list of that word.
  std::vector<std::pair<std::string, std::int64_t>> choices;

  // Each returns a narrowed copy: at_least(0).below(1), at_least(2).multiple_of(2).length(1, 2).
  Constraint at_least(double limit) const;
  Constraint above(double limit) const;
  Constraint at_most(double limit) const;
  Constraint below(double limit) const;
  Constraint multiple_of(std::uint64_t step) const;
  Constraint length(std::size_t least, std::size_t most) const;
  Constraint or_word(std::string word, std::int64_t code) const;

  /// ">= 0 and < 1", "minmod | none", ...; empty if anything goes.
  std::string text() const;
};

Constraint at_least(double limit);
Constraint above(double limit);
Constraint at_most(double limit);
Constraint below(double limit);
Constraint between(double low, double high);  ///< both ends allowed
Constraint multiple_of(std::uint64_t step);
Constraint length(std::size_t least, std::size_t most);       ///< of a list
Constraint one_of(std::initializer_list<std::string> words);  ///< for std::string members

template <class Enum>
Constraint choices(std::initializer_list<std::pair<const char*, Enum>> names) {
  Constraint result;
  for (const auto& [name, value] : names)
    result.choices.emplace_back(name, static_cast<std::int64_t>(value));
  return result;
}

}  // namespace stap::config
