#include "stap/study/solver_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/stop.h"
#include "study/solver_checking.h"

namespace stap {
namespace {

double norm(const std::vector<double>& state) {
  double sum = 0.0;
  for (const double v : state) sum += v * v;
  return std::sqrt(sum);
}

}  // namespace

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (same_bits(a, b)) return 0.0;
  const double size = std::max(norm(a), norm(b));
  return std::max(size > 0 ? distance(a, b) / size : 0.0, std::numeric_limits<double>::min());
}

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
      row("runs", Verdict::not_checked, "mend the launcher first: behind it every call would fail");
      return std::move(found_);
    }
  }
  if (first_answer()) {
    own_answer();
    again();
    perturbed();
    another_time();
    another_place();
    symmetries();
    scaled();
    several_steps();
    more_states();
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

SolverChecking::Told SolverChecking::ask(const State& state, double time, std::size_t steps) {
  return ask(*solver_, *queue_, {state}, {time}, steps).front();
}

std::vector<SolverChecking::Told> SolverChecking::ask(const Solver& solver, SolverQueue& queue,
                                                      const std::vector<State>& states,
                                                      const std::vector<double>& times,
                                                      std::size_t steps) {
  std::vector<Told> told(states.size());
  const auto begun = Clock::now();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Query query{.id = i, .state = states[i], .time = times[i], .params = {}, .steps = steps};
    if (solver.refusal(query).empty()) ++found_.calls;
    queue.submit(query);
  }
  while (queue.open() > 0) {
    if (stop_ && stop_()) throw Stopped();
    auto reply = queue.next(Clock::now() + kPatience);
    if (!reply) continue;
    told[reply->id] = {std::move(reply->answer), Seconds(Clock::now() - begun).count()};
  }
  queue.recorded();  // a question that is put again is to be computed again
  observer_.progress({"solver check", std::min(found_.calls, planned_), planned_, "calls"});
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

std::size_t usual_calls(const std::vector<std::string>& symmetries) {
  return kSolverCheckCalls + symmetries.size();
}

std::size_t planned_calls(const SolverToCheck& solver, std::size_t calls_most) {
  if (calls_most > usual_calls(solver.symmetries)) return calls_most;
  std::size_t calls = kCallsBefore + kCallsBehind + (solver.told_dt ? kCallsOfHalfSteps : 0) +
                      solver.symmetries.size();
  if (solver.make({})->steps_at_once() > 1) ++calls;
  return std::min(calls, calls_most);
}

SolverCheck check_solver(const SolverToCheck& solver, std::size_t calls_most, Observer& observer,
                         const StopAsked& stop) {
  return SolverChecking(solver, calls_most, observer, stop).run();
}

}  // namespace stap
