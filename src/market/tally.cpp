#include "market/tally.h"

#include <algorithm>

namespace stap {

Tally::Tally(const RowsWanted& rows, const FailurePolicy& solvers, const LoggedAnswers& answers)
    : wanted(rows), policy(solvers), breaker(solvers) {
  for (const AnswerKey& key : answers.in_vain()) ended.insert(key.candidate);
}

std::size_t Tally::most() const {
  return std::max(wanted.rows / kShare, kAlways);
}

std::string Tally::last_texts() const {
  std::string text;
  for (std::size_t i = texts.size() - std::min(kShown, texts.size()); i < texts.size(); ++i)
    text += "\n  " + texts[i];
  return text;
}

}  // namespace stap
