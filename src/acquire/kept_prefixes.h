#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stap/core/pattern.h"

namespace stap {

/// What is known of one candidate's mixed rollouts, u_bSa. Their first steps depend on the first
/// bits of S alone, so it is kept by prefix and pair: how far u_bSa is from u_a after the prefix
/// (for good), and the row where the state is (while there is room; the one used longest ago makes
/// place for a new one).
class KeptPrefixes {
 public:
  /// `room` rows from `first_row` on.
  KeptPrefixes(std::size_t steps, std::size_t pairs, std::size_t first_row, std::size_t room);

  /// The prefixes of 1 .. L steps of a pattern. A prefix is a number that stays the same.
  std::vector<std::size_t> of(const Pattern& pattern);

  bool measured(std::size_t prefix, std::size_t pair) const {
    return entries_[at(prefix, pair)].measured;
  }
  double distance2(std::size_t prefix, std::size_t pair) const {
    return entries_[at(prefix, pair)].distance2;
  }
  void measure(std::size_t prefix, std::size_t pair, double distance2);

  /// None if it was never made or has made place.
  std::optional<std::size_t> row(std::size_t prefix, std::size_t pair) const;
  /// The state is in a row outside of the room, and stays there.
  void put_row(std::size_t prefix, std::size_t pair, std::size_t row);
  /// A place for the state. What was used or made since then never makes place before what was not.
  std::size_t make_row(std::size_t prefix, std::size_t pair);
  void use_row(std::size_t prefix, std::size_t pair);

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Node {
    std::size_t longer[2] = {kNone, kNone};  // by the next bit
  };
  struct Entry {
    double distance2 = 0.0;
    std::size_t row = kNone;
    bool measured = false;
  };
  struct Place {
    std::size_t entry;
    std::uint64_t used;
  };

  std::size_t at(std::size_t prefix, std::size_t pair) const { return prefix * pairs_ + pair; }

  std::size_t steps_, pairs_, first_row_, room_;
  std::vector<Node> nodes_;     // the first is the empty prefix
  std::vector<Entry> entries_;  // [prefix][pair]
  std::vector<Place> places_;   // those of the room that were ever used
  std::uint64_t uses_ = 0;
};

}  // namespace stap
