// What the report says first of a problem: its finding, and four answers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/shortened.h"
#include "stap/report/report.h"
#include "stap/results/comparison.h"

namespace stap {

enum class Tone { plain, good, open, bad };
struct Tile {
  std::string question, answer, pill{}, details{};
  Tone tone = Tone::plain;  ///< of the pill
  bool costs = false;       ///< other costs of a solver step can be tried
};
struct Headline {
  std::string title, text;          ///< the finding, and one or two sentences with numbers
  std::string about{};              ///< how these are computed
  std::string advice{}, command{};  ///< "Two more seeds would probably settle it", and how
  std::vector<Tile> tiles{};
  std::vector<std::string> remarks{};     ///< what else must be known
  ErrorsOf whose = ErrorsOf::mean_model;  ///< whose errors all of this is about
  std::optional<std::size_t> best,
      against;          ///< rows: the lowest error, and what it is held against
  bool proved = false;  ///< it is significantly lower than all others
};
Headline headline_of(const Report& report, const ReportProblem& problem);

/// What must be known of a problem beside its ranking: errors that rise or diverge, queries that
/// failed, what the paper has. `ranked`: rows with an error, by set, the lowest first.
std::vector<std::string> remarks_of(const ReportProblem& problem, ErrorsOf whose,
                                    const std::vector<std::vector<std::size_t>>& ranked);
/// The four answers; `head` has its rows already.
std::vector<Tile> tiles_of(const Report& report, const ReportProblem& problem, const Headline& head,
                           const std::vector<std::size_t>& ranked);
/// The method whose savings are shown: the best one that has a baseline; null: there is none.
const ReportMethod* judged_method(const ReportProblem& problem,
                                  const std::vector<std::size_t>& ranked);

/// Why there is nothing to rank.
void say_unmeasured(const Report& report, const ReportProblem& problem, Headline& head);
/// "3 finished and 1 failed": of runs of this problem; empty: of all.
std::string states_text(const Report& report, std::string_view problem = {});

}  // namespace stap
