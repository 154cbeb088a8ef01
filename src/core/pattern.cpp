#include "stap/core/pattern.h"

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

Pattern Pattern::parse(std::string_view text) {
  Pattern pattern(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '0' && text[i] != '1')
      throw Error(ErrorKind::config,
                  fmt::format("pattern '{}' holds '{}', expected only 0 and 1", text, text[i]));
    pattern.set(i, text[i] == '1');
  }
  return pattern;
}

std::size_t Pattern::cost() const {
  std::size_t ones = 0;
  for (std::uint8_t bit : bits_) ones += bit;
  return ones;
}

std::size_t Pattern::end() const {
  std::size_t end = steps();
  while (end > 0 && bits_[end - 1] == 0) --end;
  return end;
}

Pattern Pattern::first(std::size_t cost) const {
  Pattern kept(steps());
  std::size_t ones = 0;
  for (std::size_t i = 0; i < steps() && ones < cost; ++i) {
    kept.bits_[i] = bits_[i];
    ones += bits_[i];
  }
  return kept;
}

Pattern Pattern::flipped(double epsilon, const Rng& rng) const {
  Pattern result = *this;
  for (std::size_t i = 0; i < steps(); ++i)
    if (rng.uniform(i) < epsilon) result.bits_[i] ^= 1;
  return result;
}

std::string Pattern::text() const {
  std::string text;
  for (std::uint8_t bit : bits_) text += bit ? '1' : '0';
  return text;
}

}  // namespace stap
