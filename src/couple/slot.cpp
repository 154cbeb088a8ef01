#include "couple/slot.h"

#include <fmt/format.h>

#include "core/checked_queue.h"

namespace stap {

std::string cut_at_flaw(std::vector<double>& states, std::size_t values) {
  const std::size_t at = first_not_finite(states);
  if (at == states.size()) return {};
  std::string flaw =
      fmt::format("value {} of step {} is {}", at % values, at / values + 1, states[at]);
  states.resize(at / values * values);
  return flaw;
}

}  // namespace stap
