#include "stap/study/solver_check.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/rng.h"
#include "stap/core/solver_queue.h"

namespace stap {
namespace {

using Clock = SolverQueue::Clock;
using Seconds = std::chrono::duration<double>;
using Verdict = CheckRow::Verdict;
using State = std::vector<double>;

constexpr std::chrono::milliseconds kPatience{200};  // between two looks at `stop`
constexpr std::size_t kFirstTries = 3;               // of a solver that never answered
// Networks compute in float, whose rounding is 6e-8: what is below makes no difference to them, but
// a run cannot be repeated to the bit.
constexpr double kAlmost = 1e-6;
constexpr double kPerturbation = 1e-6;
constexpr double kExplodes = 1e3;  // times the perturbation, after one step
// Of what one step changes: schemes of first order are there with some ten internal steps.
constexpr double kHalfSteps = 0.05;
constexpr double kLeastToTell = 0.05;  // seconds; of shorter calls chance is what is seen
constexpr double kShortCall = 0.2;     // seconds; nobody need end such a call
constexpr double kPartOfCall = 0.3;    // that has passed when it is asked to end,
constexpr double kWaitedMost = 2.0;    // in seconds at most
// First, second step, again, perturbed, another time, scaled; one that is ended, two at a time.
constexpr std::size_t kCallsBefore = 6, kCallsBehind = 3, kCallsOfHalfSteps = 2;

double norm(const State& state) {
  double sum = 0.0;
  for (const double v : state) sum += v * v;
  return std::sqrt(sum);
}

double distance(const State& a, const State& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

bool same_bits(const State& a, const State& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// Relative, and above 0 wherever the bits differ.
double difference(const State& a, const State& b) {
  if (same_bits(a, b)) return 0.0;
  const double size = std::max(norm(a), norm(b));
  return std::max(size > 0 ? distance(a, b) / size : 0.0, std::numeric_limits<double>::min());
}

double cpu_seconds_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::string range_text(const Solver& solver, const State& state) {
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

// One check after the other on one solver.
class Checking {
 public:
  Checking(const SolverToCheck& asked, std::size_t calls_most, Observer& observer,
           const StopAsked& stop)
      : asked_(asked),
        most_(calls_most),
        planned_(planned_calls(asked, calls_most)),
        observer_(observer),
        stop_(stop),
        solver_(asked.make({})),
        queue_(solver_->open()) {
    observer_.progress({"solver check", 0, planned_, "calls"});
  }

  SolverCheck run() && {
    if (first_answer()) {
      own_answer();
      again();
      perturbed();
      another_time();
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

 private:
  struct Told {
    Answer answer;
    double wall = 0.0;  // seconds from the question to the reply
    bool ok() const { return answer.status == Answer::Status::ok; }
    bool refused() const { return answer.status == Answer::Status::refused; }
    // "fails: exit code 3"
    std::string trouble() const {
      return fmt::format("{}: {}", refused() ? "is refused" : "fails", answer.reason);
    }
    State last(std::size_t values) const {
      return {answer.states.end() - static_cast<std::ptrdiff_t>(values), answer.states.end()};
    }
  };

  void row(const char* name, Verdict verdict, std::string text) {
    found_.rows.push_back({name, verdict, std::move(text)});
  }

  bool can(std::size_t calls, const char* name) {
    if (found_.calls + calls <= most_) return true;
    row(name, Verdict::not_checked,
        fmt::format("needs {} of which {} left (--calls)", calls == 1 ? "a call," : "2 calls,",
                    most_ > found_.calls ? "1 is" : "none is"));
    return false;
  }

  Told ask(const State& state, double time, std::size_t steps = 1) {
    return ask(*solver_, *queue_, {state}, {time}, steps).front();
  }

  // All of them at the same time.
  std::vector<Told> ask(const Solver& solver, SolverQueue& queue, const std::vector<State>& states,
                        const std::vector<double>& times, std::size_t steps = 1) {
    std::vector<Told> told(states.size());
    const auto begun = Clock::now();
    for (std::size_t i = 0; i < states.size(); ++i) {
      const Query query{
          .id = i, .state = states[i], .time = times[i], .params = {}, .steps = steps};
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

  double dt() const { return solver_->dt(); }
  std::size_t values() const { return solver_->grid().values(); }

  // Finds an initial condition that the solver can advance: all further checks are about it.
  bool first_answer() {
    std::string trouble;
    std::size_t failed = 0;
    for (std::size_t i = 0; i < asked_.states.size() && found_.calls < std::min(most_, kFirstTries);
         ++i) {
      const double cpu = cpu_seconds_of_children();
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
        failed > 0 ? trouble : "a step was made and its answer is whole");
    row("shape and type", Verdict::ok,
        fmt::format("{} values, float64", solver_->grid().shape_text()));
    const bool still = same_bits(input_, answer_);
    row("finite", still ? Verdict::warning : Verdict::ok,
        still ? "the answer is the input, bit by bit: nothing happened in a step"
              : range_text(*solver_, answer_));
    return true;
  }

  // The second step of a trajectory; its answer is what other checks compare with, too.
  void own_answer() {
    const char* name = "second step";
    if (!can(1, name)) return;
    const Told told = ask(answer_, asked_.time + dt());
    if (!told.ok())
      return row(name, Verdict::failed,
                 fmt::format("from its own answer it cannot go on: it {}", told.trouble()));
    second_ = told.answer.states;
    found_.seconds.push_back(told.answer.seconds);
    row(name, Verdict::ok, "it goes on from its own answer");
  }

  // Whether an answer is a function of the query.
  void again() {
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

  void judge_noise(const char* name) {
    if (noise_ <= kAlmost)
      return row(name, Verdict::warning,
                 fmt::format("not the same bits (relative difference {:.2g}): a run cannot be "
                             "repeated exactly; threads that add up in any order do this",
                             noise_));
    row(name, Verdict::failed,
        fmt::format(
            "different answers (relative difference {:.2g}): is there a random seed to fix?",
            noise_));
  }

  // Whether two answers that should be equal are, as far as its noise lets one tell.
  bool equal(const State& a, const State& b) const { return difference(a, b) <= 10.0 * noise_; }

  void another_time() {
    const char* name = "another time";
    if (!can(1, name)) return;
    const Told told = ask(input_, asked_.time + dt());
    if (!told.ok())
      return row(name, Verdict::warning,
                 fmt::format("at time {:g} the same state {}", asked_.time + dt(), told.trouble()));
    found_.seconds.push_back(told.answer.seconds);
    if (equal(told.answer.states, answer_))
      return row(name, Verdict::ok, "the time makes no difference");
    const double by = difference(told.answer.states, answer_);
    if (!asked_.told_time)
      return row(
          name, Verdict::failed,
          fmt::format("another answer (relative difference {:.2g}) though it is not told the "
                      "time: what does it depend on?",
                      by));
    row(name, asked_.time_input ? Verdict::ok : Verdict::warning,
        asked_.time_input
            ? fmt::format("the time makes a relative difference of {:.2g}; networks know it", by)
            : fmt::format(
                  "the time makes a relative difference of {:.2g}, and networks do not know "
                  "it: set network.time_input: true",
                  by));
  }

  void mates() {
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
    row(name, Verdict::ok, "a mate makes no difference");
  }

  void perturbed() {
    const char* name = "perturbed";
    if (!can(1, name)) return;
    State state = input_;
    const Rng rng = Rng(0).split("solver check");
    for (std::size_t i = 0; i < state.size(); ++i)
      state[i] *= 1.0 + kPerturbation * (1.0 + 0.5 * rng.uniform(i, -1.0, 1.0));
    const double moved = distance(state, input_);
    if (!(moved > 0)) return row(name, Verdict::not_checked, "the initial condition is 0");
    const Told told = ask(state, asked_.time);
    if (told.refused())
      return row(name, Verdict::not_checked,
                 fmt::format("the guard refuses it: {}", told.answer.reason));
    if (!told.ok())
      return row(name, Verdict::failed,
                 fmt::format("fails for a state that differs by 1e-6: {}", told.answer.reason));
    found_.seconds.push_back(told.answer.seconds);
    const double growth = distance(told.answer.states, answer_) / moved;
    if (same_bits(told.answer.states, answer_))
      return row(name, Verdict::failed,
                 second_.empty() || !same_bits(second_, answer_)
                     ? "the answer does not move with its input (by 1e-6): are numbers read or "
                       "written with few digits?"
                     : "the answer is the same whatever the input: is {input} read at all?");
    if (growth > kExplodes)
      return row(name, Verdict::warning,
                 fmt::format("a difference of 1e-6 becomes {:.2g} times as large in a step: nobody "
                             "can learn that; a shorter dt may help",
                             growth));
    row(name, Verdict::ok,
        fmt::format("a difference of 1e-6 becomes {:.2g} times as large in a step", growth));
  }

  void scaled() {
    const char* name = "scaled by 2";
    if (!can(1, name)) return;
    State state = input_;
    for (double& v : state) v *= 2.0;
    const Told told = ask(state, asked_.time);
    if (told.refused()) return row(name, Verdict::ok, "the guard refuses it, which costs nothing");
    if (!told.ok())
      return row(name, Verdict::warning,
                 fmt::format("fails: {}; networks may ask about such states: pde.guard refuses "
                             "them before they cost a call",
                             told.answer.reason));
    row(name, Verdict::ok, fmt::format("answered: {}", range_text(*solver_, told.answer.states)));
  }

  void not_a_number() {
    State state = asked_.states.front();
    state[state.size() / 2] = std::numeric_limits<double>::quiet_NaN();
    const std::string reason = solver_->refusal({.state = state, .time = asked_.time});
    row("not a number", reason.empty() ? Verdict::failed : Verdict::ok,
        reason.empty() ? "a state with NaN would be computed"
                       : "refused before the solver is called");
  }

  void half_steps() {
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

  void several_steps() {
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

  void more_states() {
    if (most_ <= kSolverCheckCalls) return;
    const std::size_t reserved = kCallsBehind + (asked_.told_dt ? kCallsOfHalfSteps : 0);
    std::size_t asked = 0, failed = 0;
    std::string trouble;
    for (std::size_t i = tried_; i < asked_.states.size() && found_.calls + reserved < most_;
         ++i, ++asked) {
      const Told told = ask(asked_.states[i], asked_.time);
      if (told.ok()) {
        found_.seconds.push_back(told.answer.seconds);
        continue;
      }
      if (failed++ == 0) trouble = fmt::format("initial condition {} {}", i, told.trouble());
    }
    if (asked == 0) return;
    row("more initial conditions", failed > 0 ? Verdict::warning : Verdict::ok,
        failed > 0 ? fmt::format("{} of {} failed: {}", failed, asked, trouble)
                   : fmt::format("all {} were advanced", asked));
  }

  void seconds() {
    const std::optional<double> median = found_.median_seconds();
    if (!median) return;
    const auto [low, high] = std::ranges::minmax(found_.seconds);
    std::string text = fmt::format("{:.3g} s", *median);
    if (found_.seconds.size() > 1)
      text += fmt::format(" ({:.3g} to {:.3g} in {} calls)", low, high, found_.seconds.size());
    if (first_wall_ > kLeastToTell && first_cpu_ > 0) {
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

  // Ends a call under way, as Ctrl-C and time limits do.
  void ended_early() {
    const char* name = "SIGTERM";
    const double usual = found_.median_seconds().value_or(0.0);
    if (usual < kShortCall)
      return row(name, Verdict::not_checked,
                 fmt::format("a call of {:.2g} s ends soon by itself", usual));
    if (!can(1, name)) return;
    queue_->submit({.id = 0, .state = input_, .time = asked_.time});
    ++found_.calls;
    const Seconds wait(std::min(kWaitedMost, kPartOfCall * usual));
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(wait);
    bool over = false;
    while (!over && Clock::now() < until) over = queue_->next(until).has_value();
    if (over)
      return row(name, Verdict::not_checked, "the call was over before it was asked to end");
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

  void files() {
    if (!asked_.left_behind) return;
    const std::vector<std::string> left = asked_.left_behind();
    row("files left behind", left.empty() ? Verdict::ok : Verdict::warning,
        left.empty() ? "none" : fmt::format("{}", fmt::join(left, "; ")));
  }

  const SolverToCheck& asked_;
  std::size_t most_, planned_;
  Observer& observer_;
  const StopAsked& stop_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<SolverQueue> queue_;
  SolverCheck found_;
  State input_, answer_, second_;  // a trajectory
  std::size_t tried_ = 0;          // initial conditions
  double first_wall_ = 0.0, first_cpu_ = 0.0;
  double noise_ = 0.0;  // relative difference of two answers to one query
};

}  // namespace

std::string_view to_string(CheckRow::Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::warning:
      return "warning";
    case Verdict::failed:
      return "FAILED";
    case Verdict::not_checked:
      break;
  }
  return "-";
}

bool SolverCheck::any_failed() const {
  return std::ranges::count(rows, Verdict::failed, &CheckRow::verdict) > 0;
}

std::optional<double> SolverCheck::median_seconds() const {
  if (seconds.empty()) return std::nullopt;
  std::vector<double> sorted = seconds;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

std::size_t planned_calls(const SolverToCheck& solver, std::size_t calls_most) {
  if (calls_most > kSolverCheckCalls) return calls_most;
  std::size_t calls = kCallsBefore + kCallsBehind + (solver.told_dt ? kCallsOfHalfSteps : 0);
  if (solver.make({})->steps_at_once() > 1) ++calls;
  return std::min(calls, calls_most);
}

SolverCheck check_solver(const SolverToCheck& solver, std::size_t calls_most, Observer& observer,
                         const StopAsked& stop) {
  return Checking(solver, calls_most, observer, stop).run();
}

std::string solver_check_text(const SolverCheck& check, const std::vector<std::string>& advice) {
  std::size_t width = 0;
  for (const CheckRow& row : check.rows) width = std::max(width, row.name.size());
  std::string text;
  for (const CheckRow& row : check.rows)
    text += fmt::format("{:<{}}  {:<7}  {}\n", row.name, width, to_string(row.verdict), row.text);
  text += fmt::format("{} calls were made\n", check.calls);
  if (!advice.empty()) text += "\nadvice\n";
  for (const std::string& sentence : advice) text += fmt::format("- {}\n", sentence);
  return text;
}

config::Value to_value(const SolverCheck& check, const std::vector<std::string>& advice) {
  using config::Value;
  const auto known = [](const std::optional<double>& number) {
    return number ? Value(*number) : Value();
  };
  Value value;
  value.set("format", "solver-check/1");
  value.set("failed", check.any_failed());
  value.set("calls", check.calls);
  Value::List rows;
  for (const CheckRow& row : check.rows) {
    Value one;
    one.set("name", row.name);
    one.set("verdict", row.verdict == Verdict::failed        ? "failed"
                       : row.verdict == Verdict::not_checked ? "not checked"
                                                             : to_string(row.verdict));
    one.set("text", row.text);
    rows.push_back(std::move(one));
  }
  value.set("rows", Value(std::move(rows)));
  value.set("seconds_a_step", known(check.median_seconds()));
  value.set("start_seconds", known(check.start));
  value.set("start_share", known(check.start_share));
  value.set("two_at_a_time", known(check.together));
  value.set("cores", known(check.cores));
  value.set("advice", Value(Value::List(advice.begin(), advice.end())));
  return value;
}

}  // namespace stap
