#include "stap/config/constraint.h"

#include <fmt/format.h>

namespace stap::config {

Constraint Constraint::at_least(double limit) const {
  Constraint result = *this;
  result.low = limit;
  result.low_open = false;
  return result;
}

Constraint Constraint::above(double limit) const {
  Constraint result = *this;
  result.low = limit;
  result.low_open = true;
  return result;
}

Constraint Constraint::at_most(double limit) const {
  Constraint result = *this;
  result.high = limit;
  result.high_open = false;
  return result;
}

Constraint Constraint::below(double limit) const {
  Constraint result = *this;
  result.high = limit;
  result.high_open = true;
  return result;
}

Constraint Constraint::multiple_of(std::uint64_t step) const {
  Constraint result = *this;
  result.multiple = step;
  return result;
}

Constraint Constraint::length(std::size_t least, std::size_t most) const {
  Constraint result = *this;
  result.min_length = least;
  result.max_length = most;
  return result;
}

Constraint Constraint::or_word(std::string word, std::int64_t code) const {
  Constraint result = *this;
  result.choices.emplace_back(std::move(word), code);
  return result;
}

std::string Constraint::text() const {
  std::vector<std::string> parts;
  if (low) parts.push_back(fmt::format("{} {}", low_open ? ">" : ">=", *low));
  if (high) parts.push_back(fmt::format("{} {}", high_open ? "<" : "<=", *high));
  std::string result = fmt::format("{}", fmt::join(parts, " and "));
  const auto add = [&](const std::string& part) { result += (result.empty() ? "" : ", ") + part; };
  if (multiple == 2)
    add("even");
  else if (multiple > 1)
    add(fmt::format("a multiple of {}", multiple));
  if (max_length < std::numeric_limits<std::size_t>::max())
    add(min_length == max_length ? fmt::format("{} of them", min_length)
                                 : fmt::format("{} to {} of them", min_length, max_length));
  else if (min_length > 0)
    add(fmt::format("at least {} of them", min_length));
  if (!choices.empty()) {
    std::vector<std::string> words;
    for (const auto& choice : choices) words.push_back(choice.first);
    const std::string all = fmt::format("{}", fmt::join(words, " | "));
    if (low || high)
      result += " or " + all;
    else
      add(all);
  }
  return result;
}

Constraint at_least(double limit) {
  return Constraint{}.at_least(limit);
}
Constraint above(double limit) {
  return Constraint{}.above(limit);
}
Constraint at_most(double limit) {
  return Constraint{}.at_most(limit);
}
Constraint below(double limit) {
  return Constraint{}.below(limit);
}
Constraint between(double low, double high) {
  return Constraint{}.at_least(low).at_most(high);
}
Constraint multiple_of(std::uint64_t step) {
  return Constraint{}.multiple_of(step);
}
Constraint length(std::size_t least, std::size_t most) {
  return Constraint{}.length(least, most);
}

Constraint one_of(std::initializer_list<std::string> words) {
  Constraint result;
  for (const std::string& word : words)
    result.choices.emplace_back(word, static_cast<std::int64_t>(result.choices.size()));
  return result;
}

}  // namespace stap::config
