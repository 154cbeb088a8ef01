// That it runs, that it ends, and what that takes and leaves.
#include <sys/resource.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/single_precision.h"
#include "trial/solver_checking.h"

namespace stap {
namespace {

constexpr std::size_t kFirstTries = 3;  // of a solver that never answered
constexpr double kShortCall = 0.2;      // seconds; nobody need end such a call
constexpr double kPartOfCall = 0.3;     // that has passed when it is asked to end,
constexpr double kWaitedMost = 2.0;     // in seconds at most

double cpu_seconds_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

bool SolverChecking::first_answer() {
  std::string trouble;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < asked_.states.size() && found_.calls < std::min(most_, kFirstTries);
       ++i) {
    const double cpu = cpu_seconds_of_children();
    have_parameters_of(i);
    const Told told = ask(asked_.states[i], asked_.time);
    if (told.ok()) {
      input_ = asked_.states[i];
      answer_ = told.answer.states;
      first_wall_ = told.wall;
      first_cpu_ = cpu_seconds_of_children() - cpu;
      found_.seconds.push_back(told.answer.seconds);
      tried_ = i + 1;
      break;
    }
    ++failed;
    if (trouble.empty()) trouble = fmt::format("initial condition {} {}", i, told.trouble());
  }
  if (answer_.empty()) {
    row("runs", Verdict::failed,
        failed > 1 ? fmt::format("{} (and {} more)", trouble, failed - 1) : trouble);
    return false;
  }
  row("runs", failed > 0 ? Verdict::warning : Verdict::ok,
      failed > 0 ? trouble : "a step was made and its answer is complete");
  row("shape and type", Verdict::ok,
      fmt::format("{} values, float64", solver_->grid().shape_text()));
  const bool still = same_bits(input_, answer_);
  row("finite", still ? Verdict::warning : Verdict::ok,
      still ? "the answer is the input, bit by bit: nothing happened in a step"
            : range_text(*solver_, answer_));
  const std::string range =
      single_precision_problem(answer_, solver_->grid().points_total(), solver_->channels());
  if (!range.empty()) row("range", Verdict::failed, range);
  return true;
}

void SolverChecking::own_answer() {
  const char* name = "second step";
  if (!can(1, name)) return;
  const Told told = ask(answer_, asked_.time + dt());
  if (!told.ok())
    return row(name, Verdict::failed,
               fmt::format("it cannot continue from its own answer: it {}", told.trouble()));
  second_ = told.answer.states;
  found_.seconds.push_back(told.answer.seconds);
  row(name, Verdict::ok, "it continues from its own answer");
}

void SolverChecking::ended_early() {
  const char* name = "SIGTERM";
  const double usual = found_.median_seconds().value_or(0.0);
  if (usual < kShortCall)
    return row(name, Verdict::not_checked,
               fmt::format("a call of {:.2g} s ends soon by itself", usual));
  if (!can(1, name)) return;
  queue_->submit({.id = 0, .state = input_, .time = asked_.time, .params = parameters_});
  ++found_.calls;
  const Seconds wait(std::min(kWaitedMost, kPartOfCall * usual));
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(wait);
  bool over = false;
  while (!over && Clock::now() < until) over = queue_->next(until).has_value();
  if (over) return row(name, Verdict::not_checked, "the call was over before it was asked to end");
  const auto asked = Clock::now();
  queue_.reset();
  const double taken = Seconds(Clock::now() - asked).count();
  observer_.progress({"solver check", std::min(found_.calls, planned_), planned_, "calls"});
  if (taken >= asked_.grace)
    return row(
        name, Verdict::warning,
        fmt::format("did not end within {:g} s (solver.grace) and was killed", asked_.grace));
  row(name, Verdict::ok, fmt::format("ended after {:.2g} s", taken));
}

void SolverChecking::seconds() {
  const std::optional<double> median = found_.median_seconds();
  if (!median) return;
  const auto [low, high] = std::ranges::minmax(found_.seconds);
  std::string text = fmt::format("{:.3g} s", *median);
  if (found_.seconds.size() > 1)
    text += fmt::format(" ({:.3g} to {:.3g} in {} calls)", low, high, found_.seconds.size());
  // What a launcher starts is no child of ours, so nobody knows what it keeps busy.
  if (first_wall_ > kLeastToTell && first_cpu_ > 0 && !asked_.launcher) {
    found_.cores = first_cpu_ / first_wall_;
    text += fmt::format(", {:.2g} cores busy", *found_.cores);
  }
  row("seconds a step", Verdict::ok, text);
  if (found_.seconds.size() > 1) {
    const double start = first_wall_ - *median;
    if (start > 0) found_.start = start;
    text = fmt::format("the first call took {:.3g} s", first_wall_);
  } else {
    text = "not known from one call";
  }
  if (found_.start_share)
    text +=
        fmt::format("; {:.0f} % of a call of one step is start-up", 100.0 * *found_.start_share);
  row("start-up", Verdict::ok, text);
}

void SolverChecking::files() {
  if (!asked_.left_behind) return;
  const std::vector<std::string> left = asked_.left_behind();
  row("files left behind", left.empty() ? Verdict::ok : Verdict::warning,
      left.empty() ? "none" : fmt::format("{}", fmt::join(left, "; ")));
}

}  // namespace stap
