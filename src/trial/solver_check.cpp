#include "stap/trial/solver_check.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trial/solver_checking.h"

namespace stap {
std::string range_text(const Solver& solver, const std::vector<double>& state) {
  const std::vector<std::string> channels = solver.channels();
  const std::size_t points = solver.grid().points_total();
  std::vector<std::string> texts;
  for (std::size_t c = 0; c < std::min<std::size_t>(channels.size(), 8); ++c) {
    const auto from = state.begin() + static_cast<std::ptrdiff_t>(c * points);
    const auto [low, high] = std::minmax_element(from, from + static_cast<std::ptrdiff_t>(points));
    texts.push_back(fmt::format("{} from {:.3g} to {:.3g}", channels[c], *low, *high));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

SolverChecking::SolverChecking(const SolverToCheck& asked, std::size_t calls_most,
                               Observer& observer, const StopAsked& stop)
    : asked_(asked),
      most_(calls_most),
      planned_(planned_calls(asked, calls_most)),
      observer_(observer),
      stop_(stop),
      solver_(asked.make({})),
      queue_(solver_->open()) {
  observer_.progress({"solver check", 0, planned_, "calls"});
}

SolverCheck SolverChecking::run() && {
  if (asked_.launcher) {
    found_.rows = asked_.launcher(stop_);
    if (found_.any_failed()) {
      row("runs", Verdict::not_checked, "fix the launcher first: without it every call would fail");
      return std::move(found_);
    }
  }
  if (first_answer()) {
    own_answer();
    again();
    perturbed();
    other_parameters();
    another_time();
    another_place();
    symmetries();
    another_mean();
    scaled();
    several_steps();
    more_states();
    means();
    ended_early();
  }
  queue_.reset();  // what follows starts programs of its own
  if (!answer_.empty()) {
    mates();
    half_steps();
    seconds();
  }
  not_a_number();
  files();
  return std::move(found_);
}

void SolverChecking::row(const char* name, Verdict verdict, std::string text) {
  found_.rows.push_back({name, verdict, std::move(text)});
}

bool SolverChecking::can(std::size_t calls, const char* name) {
  if (found_.calls + calls <= most_) return true;
  row(name, Verdict::not_checked,
      fmt::format("needs {} of which {} left (--calls)", calls == 1 ? "a call," : "2 calls,",
                  most_ > found_.calls ? "1 is" : "none is"));
  return false;
}

SolverTold SolverChecking::ask(const State& state, double time, std::size_t steps) {
  return ask(*solver_, *queue_, {state}, {time}, steps).front();
}

std::vector<SolverTold> SolverChecking::ask(const Solver& solver, SolverQueue& queue,
                                            const std::vector<State>& states,
                                            const std::vector<double>& times, std::size_t steps) {
  std::vector<Told> told =
      ask_solver(solver, queue, states, times, parameters_, steps, stop_, found_.calls);
  observer_.progress({"solver check", std::min(found_.calls, planned_), planned_, "calls"});
  for (std::size_t i = 0; i < told.size(); ++i)
    if (told[i].ok() && steps == 1) note_means(states[i], told[i].answer.states);
  return told;
}

bool SolverCheck::any_failed() const {
  return std::ranges::count(rows, CheckRow::Verdict::failed, &CheckRow::verdict) > 0;
}

std::optional<double> SolverCheck::median_seconds() const {
  if (seconds.empty()) return std::nullopt;
  std::vector<double> sorted = seconds;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

std::size_t usual_calls(std::size_t symmetries, std::size_t parameters) {
  return kSolverCheckCalls + symmetries + parameters;
}

std::size_t planned_calls(const SolverToCheck& solver, std::size_t calls_most) {
  if (calls_most > usual_calls(solver.symmetries.size(), solver.draws.size())) return calls_most;
  std::size_t calls = kCallsBefore + kCallsBehind + (solver.told_dt ? kCallsOfHalfSteps : 0) +
                      solver.symmetries.size() + solver.draws.size();
  const std::unique_ptr<Solver> made = solver.make({});
  if (made->steps_at_once() > 1) ++calls;
  if (!made->grid().walled()) calls += made->grid().axes();
  return std::min(calls, calls_most);
}

SolverCheck check_solver(const SolverToCheck& solver, std::size_t calls_most, Observer& observer,
                         const StopAsked& stop) {
  return SolverChecking(solver, calls_most, observer, stop).run();
}

}  // namespace stap
