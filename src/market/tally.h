#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "core/breaker.h"
#include "market/make_rows.h"
#include "stap/core/solver.h"
#include "stap/journal/answer_log.h"

namespace stap {

/// Draws that failed, of all legs together.
struct Tally {
  Tally(const RowsWanted& rows, const FailurePolicy& solvers, const LoggedAnswers& answers);

  /// Whether the place of a draw with this answer is another's; else it ends everything.
  bool bears(Answer::Status status) const {
    return policy.breaker || (policy.abort && status == Answer::Status::failed);
  }
  std::size_t most() const;
  bool too_many() const { return breaker.tripped() || ended.size() > most(); }
  /// The draws that are rows, or may be, are those before this one.
  std::size_t end() const { return wanted.rows + ended.size(); }
  std::string last_texts() const;

  static constexpr std::size_t kShare = 10, kAlways = 3, kShown = 3;

  const RowsWanted& wanted;
  FailurePolicy policy;
  Breaker breaker;
  std::set<std::size_t> ended;
  std::vector<std::string> texts;  ///< of those of this process
};

}  // namespace stap
