#include "stap/acquire/ledger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"

namespace stap {

void require_balance(const Ledger& l) {
  const bool adds_up = l.bought + l.warm_up + l.charged_failures + l.unspent == l.budget;
  if (adds_up && l.charged_failures <= l.failed && l.refused_by_trust <= l.refused &&
      l.reasons.size() == l.refused + l.failed)
    return;
  throw Error(
      ErrorKind::internal,
      fmt::format(
          "the ledger does not add up: {} bought + {} of warm-ups + {} charged of {} failed + "
          "{} unspent, budget {}; {} refused, {} of them by the trust band; {} reasons",
          l.bought, l.warm_up, l.charged_failures, l.failed, l.unspent, l.budget, l.refused,
          l.refused_by_trust, l.reasons.size()));
}

void add_pass(Ledger& round, const Ledger& pass) {
  if (pass.budget != round.unspent)
    throw Error(ErrorKind::internal, fmt::format("a pass of {} solver steps where {} were left",
                                                 pass.budget, round.unspent));
  round.bought += pass.bought;
  round.warm_up += pass.warm_up;
  round.refused += pass.refused;
  round.refused_by_trust += pass.refused_by_trust;
  round.failed += pass.failed;
  round.charged_failures += pass.charged_failures;
  round.unspent = pass.unspent;
  round.passes += pass.passes;
  round.pool_exhausted = round.pool_exhausted || pass.pool_exhausted;
  round.reasons.insert(round.reasons.end(), pass.reasons.begin(), pass.reasons.end());
}

std::string trouble_text(const Ledger& l) {
  std::vector<std::string> parts;
  if (l.refused > 0) {
    parts.push_back(fmt::format("{} {} refused", l.refused, l.refused == 1 ? "query" : "queries"));
    if (l.refused_by_trust > 0)
      parts.back() += fmt::format(" ({} by the trust band)", l.refused_by_trust);
  }
  if (l.failed > 0)
    parts.push_back(fmt::format("{}{} failed{}", l.failed,
                                l.refused > 0   ? ""
                                : l.failed == 1 ? " query"
                                                : " queries",
                                l.charged_failures == 0 ? " (not charged)" : ""));
  if (l.pool_exhausted) parts.push_back("no candidate is left to choose");
  // Where warm-ups are charged, a rest that pays for no other is nothing to worry about.
  if (l.unspent > 0 && (l.warm_up == 0 || !parts.empty()))
    parts.push_back(fmt::format("{} of {} solver steps stay unspent", l.unspent, l.budget));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace stap
