#include "stap/acquire/trust.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/resident_rows.h"

namespace stap {

std::vector<double> one_step_spreads(Committee& committee, StatesView<const float> inputs,
                                     ConditionsView conditions, std::size_t block) {
  const auto members = static_cast<std::size_t>(committee.members());
  if (members < 2)
    throw Error(ErrorKind::config,
                "a trust band compares members, this committee has one: train at least 2 members, "
                "or set trust_quantile to 0");
  block = std::clamp<std::size_t>(block, 1, std::max<std::size_t>(1, inputs.count));
  const ResidentRows from(committee, block), to(committee, block * members);
  std::vector<double> spreads(inputs.count);
  for (std::size_t first = 0; first < inputs.count; first += block) {
    const std::size_t n = std::min(block, inputs.count - first);
    std::vector<std::size_t> parent, own;
    std::vector<int> member;
    for (std::size_t r = 0; r < n * members; ++r) {
      parent.push_back(r / members);
      own.push_back(r);
      member.push_back(static_cast<int>(r % members));
    }
    committee.put(from, 0, inputs.rows(first, n), conditions.part(first, n));
    committee.advance(from, parent, member, to, own);
    committee.spread(to, own, std::span(spreads).subspan(first, n));
  }
  return spreads;
}

double trust_limit(std::vector<double> spreads, double quantile) {
  if (spreads.empty()) throw Error(ErrorKind::internal, "a trust band of no bought inputs");
  for (double& spread : spreads)
    if (std::isnan(spread)) spread = std::numeric_limits<double>::infinity();
  const double share = std::ceil(quantile * static_cast<double>(spreads.size()));
  const auto nth = std::clamp<std::size_t>(static_cast<std::size_t>(share), 1, spreads.size()) - 1;
  std::nth_element(spreads.begin(), spreads.begin() + static_cast<std::ptrdiff_t>(nth),
                   spreads.end());
  return spreads[nth];
}

}  // namespace stap
