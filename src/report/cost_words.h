// What the cost analysis means, in words.
#pragma once

#include <string>
#include <vector>

#include "stap/report/report.h"

namespace stap {

/// Why a method's savings and cost are a guess; empty where its error is surely another than that
/// of its baseline.
std::string guess_text(const ReportProblem& problem, const ReportMethod& method);

/// Solver steps saved, and whether active learning paid: of the best method that has a baseline.
/// `order`: rows that have an error, the lowest first.
std::vector<std::string> cost_words(const ReportProblem& problem,
                                    const std::vector<std::size_t>& order);

}  // namespace stap
