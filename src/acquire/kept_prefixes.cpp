#include "acquire/kept_prefixes.h"

#include <algorithm>

namespace stap {

KeptPrefixes::KeptPrefixes(std::size_t steps, std::size_t pairs, std::size_t first_row,
                           std::size_t room)
    : steps_(steps),
      pairs_(pairs),
      first_row_(first_row),
      room_(room),
      nodes_(1),
      entries_(pairs) {}

std::vector<std::size_t> KeptPrefixes::of(const Pattern& pattern) {
  std::vector<std::size_t> prefixes;
  std::size_t now = 0;
  for (std::size_t step = 0; step < steps_; ++step) {
    const std::size_t bit = pattern[step] ? 1 : 0;
    if (nodes_[now].longer[bit] == kNone) {
      nodes_[now].longer[bit] = nodes_.size();
      nodes_.emplace_back();
      entries_.resize(nodes_.size() * pairs_);
    }
    now = nodes_[now].longer[bit];
    prefixes.push_back(now);
  }
  return prefixes;
}

void KeptPrefixes::measure(std::size_t prefix, std::size_t pair, double distance2) {
  Entry& entry = entries_[at(prefix, pair)];
  entry.distance2 = distance2;
  entry.measured = true;
}

std::optional<std::size_t> KeptPrefixes::row(std::size_t prefix, std::size_t pair) const {
  const std::size_t row = entries_[at(prefix, pair)].row;
  if (row == kNone) return {};
  return row;
}

void KeptPrefixes::put_row(std::size_t prefix, std::size_t pair, std::size_t row) {
  entries_[at(prefix, pair)].row = row;
}

std::size_t KeptPrefixes::make_row(std::size_t prefix, std::size_t pair) {
  std::size_t place = places_.size();
  if (place < room_) {
    places_.emplace_back();
  } else {
    const auto oldest =
        std::min_element(places_.begin(), places_.end(),
                         [](const Place& a, const Place& b) { return a.used < b.used; });
    place = static_cast<std::size_t>(oldest - places_.begin());
    entries_[oldest->entry].row = kNone;
  }
  places_[place] = {at(prefix, pair), ++uses_};
  return entries_[at(prefix, pair)].row = first_row_ + place;
}

void KeptPrefixes::use_row(std::size_t prefix, std::size_t pair) {
  const std::size_t row = entries_[at(prefix, pair)].row;
  if (row >= first_row_ && row < first_row_ + places_.size())
    places_[row - first_row_].used = ++uses_;
}

}  // namespace stap
