// The same answer, asked again, beside another, in two halves and two at once.
#include <algorithm>

#include <fmt/format.h>

#include "trial/solver_checking.h"

namespace stap {
namespace {

// Of what one step changes: schemes of first order are there with some ten internal steps.
constexpr double kHalfSteps = 0.05;

}  // namespace

void SolverChecking::again() {
  const char *twice = "same input twice", *hidden = "hidden state";
  if (!can(1, twice)) return;
  const Told told = ask(input_, asked_.time);
  if (!told.ok())
    return row(twice, Verdict::failed, fmt::format("the second time it {}", told.trouble()));
  found_.seconds.push_back(told.answer.seconds);
  noise_ = difference(answer_, told.answer.states);
  if (noise_ == 0.0) {
    row(twice, Verdict::ok, "the same bits");
    return row(hidden, second_.empty() ? Verdict::not_checked : Verdict::ok,
               second_.empty() ? "there was no other query in between"
                               : "a query in between makes no difference");
  }
  // Chance, or memory of the query before? Now it is the same query before and after.
  if (!can(2, hidden)) return judge_noise(twice);
  const Told third = ask(input_, asked_.time), fourth = ask(input_, asked_.time);
  if (third.ok() && fourth.ok() && same_bits(third.answer.states, fourth.answer.states)) {
    row(twice, Verdict::ok, "the same bits, if asked one after the other");
    return row(hidden, Verdict::failed,
               fmt::format("another answer after another query (relative difference {:.2g}): a "
                           "step must begin from its input alone, so put what it remembers into "
                           "the state",
                           noise_));
  }
  for (const Told* one : {&third, &fourth})
    if (one->ok()) noise_ = std::max(noise_, difference(answer_, one->answer.states));
  judge_noise(twice);
  row(hidden, Verdict::not_checked, "cannot be told from chance");
}

void SolverChecking::judge_noise(const char* name) {
  if (noise_ <= kAlmost)
    return row(name, Verdict::warning,
               fmt::format("not the same bits (relative difference {:.2g}): a run cannot be "
                           "repeated exactly; threads that add up in any order do this",
                           noise_));
  row(name, Verdict::failed,
      fmt::format("different answers (relative difference {:.2g}): is there a random seed to fix?",
                  noise_));
}

void SolverChecking::mates() {
  const char* name = "two at a time";
  if (second_.empty()) return;
  if (!can(2, name)) return;
  const auto solver = asked_.make({.dt_factor = 1.0, .slots = 2});
  const auto queue = solver->open();
  const auto told = ask(*solver, *queue, {input_, answer_}, {asked_.time, asked_.time + dt()});
  for (const Told& one : told)
    if (!one.ok())
      return row(
          name, Verdict::failed,
          fmt::format("beside another it {}; do they share a file or a port?", one.trouble()));
  if (!equal(told[0].answer.states, answer_) || !equal(told[1].answer.states, second_))
    return row(name, Verdict::failed,
               fmt::format("beside another the answer is another (relative difference {:.2g}): "
                           "do they share a file?",
                           std::max(difference(told[0].answer.states, answer_),
                                    difference(told[1].answer.states, second_))));
  // A worker's start is no part of a call.
  const double longest = std::max(told[0].answer.seconds, told[1].answer.seconds);
  const double alone = found_.median_seconds().value_or(0.0);
  if (alone > kLeastToTell) found_.together = longest / alone;
  row(name, Verdict::ok, "same answer while another call runs");
}

void SolverChecking::half_steps() {
  const char* name = "two half steps";
  if (!asked_.told_dt) return row(name, Verdict::not_checked, "the program is not told dt");
  if (!can(2, name)) return;
  const auto solver = asked_.make({.dt_factor = 0.5, .slots = 1});
  const auto queue = solver->open();
  State state = input_;
  for (const double time : {asked_.time, asked_.time + 0.5 * dt()}) {
    const Told told = ask(*solver, *queue, {state}, {time}).front();
    if (!told.ok())
      return row(name, Verdict::warning, fmt::format("half a step {}", told.trouble()));
    state = told.answer.states;
    if (time == asked_.time && same_bits(state, answer_))
      return row(name, Verdict::not_checked, "the program takes no notice of dt");
  }
  const double change = distance(answer_, input_), by = distance(state, answer_);
  const double share = change > 0 ? by / change : by;
  row(name, share > kHalfSteps ? Verdict::warning : Verdict::ok,
      fmt::format("they differ from one step by {:.2g} % of what it changes{}", 100.0 * share,
                  share > kHalfSteps ? ": does dt mean the same to the program?" : ""));
}

void SolverChecking::several_steps() {
  const char* name = "steps at once";
  if (solver_->steps_at_once() < 2 || second_.empty()) return;
  if (!can(1, name)) return;
  const Told told = ask(input_, asked_.time, 2);
  if (!told.ok())
    return row(name, Verdict::failed, fmt::format("a call of 2 steps {}", told.trouble()));
  State both = answer_;
  both.insert(both.end(), second_.begin(), second_.end());
  const double by = difference(told.answer.states, both);
  const double alone = found_.median_seconds().value_or(0.0);
  if (alone > kLeastToTell)
    found_.start_share = std::clamp(2.0 - told.answer.seconds / alone, 0.0, 1.0);
  if (by > std::max(kAlmost, 10.0 * noise_))
    return row(name, Verdict::failed,
               fmt::format("2 steps in one call are not those of 2 calls (relative difference "
                           "{:.2g}): each step must begin from the state before it",
                           by));
  row(name, Verdict::ok,
      by == 0.0 ? "2 steps in one call are those of 2 calls, to the bit"
                : fmt::format("2 steps in one call are those of 2 calls (relative difference "
                              "{:.2g})",
                              by));
}

}  // namespace stap
