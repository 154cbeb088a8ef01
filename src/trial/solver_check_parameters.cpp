// What it makes of parameters that vary.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trial/solver_checking.h"

namespace stap {
namespace {

// Of the values that it may have the one that is furthest away; none if there is no other.
std::optional<double> other_value(const ParameterDraw& draw, double value) {
  const bool log = draw.kind == ParameterDraw::Kind::log;
  const auto away = [&](double other) {
    return std::abs(log ? std::log(other / value) : other - value);
  };
  const double other = *std::ranges::max_element(draw.values, {}, away);
  return other == value ? std::nullopt : std::optional(other);
}

}  // namespace

void SolverChecking::have_parameters_of(std::size_t state) {
  const auto own = asked_.parameters.row(state);
  parameters_.assign(own.begin(), own.end());
}

void SolverChecking::other_parameters() {
  const char* name = "parameters";
  const std::vector<double> own = parameters_;
  std::vector<std::string> told_of, ignored, troubled;
  for (std::size_t p = 0; p < asked_.draws.size(); ++p) {
    const ParameterDraw& draw = asked_.draws[p];
    const auto other = other_value(draw, own[p]);
    if (!other) continue;
    if (!can(1, name)) return;
    parameters_[p] = *other;
    const Told told = ask(input_, asked_.time);
    parameters_ = own;
    if (!told.ok()) {
      troubled.push_back(
          fmt::format("with {} = {:g} the same state {}", draw.name, *other, told.trouble()));
      continue;
    }
    found_.seconds.push_back(told.answer.seconds);
    if (equal(told.answer.states, answer_))
      ignored.push_back(draw.name);
    else
      told_of.push_back(fmt::format("{} ({:g} instead of {:g}: relative difference {:.2g})",
                                    draw.name, *other, own[p],
                                    difference(told.answer.states, answer_)));
  }
  if (!ignored.empty())
    row(name, Verdict::warning,
        fmt::format("the answer does not depend on {}: does the solver read {}?",
                    fmt::join(ignored, ", "), ignored.size() == 1 ? "it" : "them"));
  if (!troubled.empty()) row(name, Verdict::warning, fmt::format("{}", fmt::join(troubled, "; ")));
  if (!told_of.empty())
    row(name, Verdict::ok, fmt::format("the answer depends on {}", fmt::join(told_of, ", ")));
}

}  // namespace stap
