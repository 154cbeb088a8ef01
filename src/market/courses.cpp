#include "market/courses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "stap/acquire/solver_steps.h"
#include "stap/core/resident_rows.h"
#include "stap/eval/hybrid_loop.h"

namespace stap {
namespace {

using How = SimulationRules::How;

// One step of the averaged model for trajectories that may be at different times.
class MeanSteps {
 public:
  MeanSteps(Committee& committee, const RowParameters& parameters, std::size_t rows)
      : committee_(committee),
        parameters_(parameters),
        rows_(committee, rows),
        made_(committee.grid(), 1) {}

  // Puts the state that step `step` begins with into place `at`, for the row's parameters.
  void put(std::size_t at, std::size_t row, std::size_t step, std::span<const float> state) {
    Conditions conditions;
    conditions.add(step, parameters_.row(row));
    committee_.put(rows_, at, {state.data(), 1, state.size()}, conditions.view());
  }
  void advance(std::span<const std::size_t> at) {
    const std::vector<int> mean(at.size(), kMean);
    committee_.advance(rows_, at, mean, rows_, at);
  }
  std::span<const float> get(std::size_t at) {
    committee_.get(rows_, at, made_.view());
    return std::as_const(made_).row(0);
  }

 private:
  Committee& committee_;
  const RowParameters& parameters_;
  ResidentRows rows_;
  States<float> made_;
};

class ToleranceCourses final : public Courses {
 public:
  ToleranceCourses(const SimulationRequest& request, Committee& committee)
      : Courses(request, committee) {
    const SimulationRules& rules = request.rules;
    for (std::size_t row = 0; row < count(); ++row)
      turns_.emplace_back(*request.bars, HybridRules{.tolerance = rules.tolerance,
                                                     .steps = rules.steps,
                                                     .from_any = rules.anywhere,
                                                     .most = allowed(row)});
  }

  void move(std::span<const std::size_t> rows) override {
    std::vector<Draft> drafts;
    std::vector<std::size_t> whose;
    for (const std::size_t row : rows) {
      if (turns_[row].next() != Turn::surrogate) continue;
      drafts.push_back(
          {&turns_[row], single(row, turns_[row].base()), request_.parameters.row(row)});
      whose.push_back(row);
    }
    make_drafts(committee_, drafts, request_.bars->floor,
                [&](std::size_t draft, std::size_t step, std::span<const float> made, double bar) {
                  convert(made, state(whose[draft], step + 1));
                  courses_[whose[draft]].predicted[step + 1] = bar;
                });
    for (const std::size_t row : rows) {
      const HybridTurns& turns = turns_[row];
      Course& course = courses_[row];
      course.beyond = turns.beyond();
      course.settled = turns.next() == Turn::done ? turns.step() : turns.base();
      if (turns.next() == Turn::solver)
        ask(row, turns.step(), turns.step(), state(row, turns.step()));
    }
  }

 private:
  bool use(std::size_t row, std::span<AnswerRecord> answers) override {
    if (answers.front().status != Answer::Status::ok) {
      turns_[row].give_up();
      return false;
    }
    const std::size_t step = turns_[row].step();
    std::ranges::copy(answers.front().state, state(row, step + 1).begin());
    courses_[row].predicted[step + 1] = 0.0;
    courses_[row].by_solver[step] = 1;
    turns_[row].solved();
    return true;
  }

  std::vector<HybridTurns> turns_;
};

class ShareCourses final : public Courses {
 public:
  ShareCourses(const SimulationRequest& request, Committee& committee, Observer& observer,
               const StopAsked& stop)
      : Courses(request, committee), observer_(observer), stop_(stop), trips_(count()) {
    const SimulationRules& rules = request.rules;
    for (std::size_t row = 0; row < count(); ++row) {
      Trip& trip = trips_[row];
      trip.left = allowed(row);
      most_plans_ += trip.left;
      if (rules.placing == SimulationRules::Placing::even)
        trip.pattern = even_steps(rules.steps, trip.left);
      if (rules.placing == SimulationRules::Placing::random)
        trip.pattern = random_steps(rules.steps, trip.left, Rng(rules.seed).split("simulate", row));
    }
  }

  void move(std::span<const std::size_t> rows) override {
    for (const std::size_t row : rows) plan(row);
    MeanSteps mean(committee_, request_.parameters, rows.size());
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (surrogate_next(rows[i])) {
        mean.put(i, rows[i], trips_[rows[i]].step, single(rows[i], trips_[rows[i]].step));
        at.push_back(i);
      }
    while (!at.empty()) {
      mean.advance(at);
      std::vector<std::size_t> more;
      for (const std::size_t i : at) {
        Trip& trip = trips_[rows[i]];
        convert(mean.get(i), state(rows[i], ++trip.step));
        if (surrogate_next(rows[i])) more.push_back(i);
      }
      at = std::move(more);
    }
    for (const std::size_t row : rows) {
      const Trip& trip = trips_[row];
      courses_[row].settled = trip.step;
      if (trip.step < request_.rules.steps) ask(row, trip.step, trip.step, state(row, trip.step));
    }
  }

 private:
  struct Trip {
    std::size_t step = 0, left = 0;  // solver steps
    Pattern pattern{};
    bool without = false;  // the solver, for this step
  };

  bool surrogate_next(std::size_t row) const {
    const Trip& trip = trips_[row];
    return trip.step < request_.rules.steps && !trip.pattern[trip.step];
  }

  // The steps from here on, since the last answer of the solver.
  void plan(std::size_t row) {
    const SimulationRules& rules = request_.rules;
    Trip& trip = trips_[row];
    const std::size_t steps = rules.steps - trip.step;
    if (rules.placing != SimulationRules::Placing::planned || steps == 0) return;
    // After a step that it cannot make, the surrogate goes first.
    const std::size_t skipped = trip.without ? 1 : 0;
    PlacedSteps placed{Pattern(steps), std::vector<double>(steps, 0.0)};
    if (std::min(trip.left, steps - skipped) > 0) {
      observer_.progress({"planning", plans_++, most_plans_, "plans"});
      placed = place_solver_steps(committee_,
                                  {.state = single(row, trip.step),
                                   .step = static_cast<std::uint32_t>(trip.step),
                                   .parameters = request_.parameters.row(row),
                                   .steps = steps,
                                   .cost = std::min(trip.left, steps - skipped)},
                                  stop_);
    }
    trip.pattern = Pattern(rules.steps);
    const double points = static_cast<double>(committee_.grid().points_total());
    for (std::size_t i = 0; i < steps; ++i) {
      trip.pattern.set(trip.step + i, placed.pattern[i] && i >= skipped);
      if (trip.left > 0)
        courses_[row].predicted[trip.step + i + 1] = std::sqrt(placed.squared[i] / points);
    }
    trip.without = false;
  }

  bool use(std::size_t row, std::span<AnswerRecord> answers) override {
    Trip& trip = trips_[row];
    --trip.left;
    if (answers.front().status != Answer::Status::ok) {
      trip.without = true;
      trip.pattern.set(trip.step, false);
      return false;
    }
    courses_[row].by_solver[trip.step] = 1;
    std::ranges::copy(answers.front().state, state(row, ++trip.step).begin());
    return true;
  }

  Observer& observer_;
  const StopAsked& stop_;
  std::vector<Trip> trips_;
  std::size_t plans_ = 0, most_plans_ = 0;  // one for each step of the solver
};

class VerifiedCourses final : public Courses {
 public:
  VerifiedCourses(const SimulationRequest& request, Committee& committee)
      : Courses(request, committee) {
    for (std::size_t row = 0; row < count(); ++row)
      trips_.push_back({.length = DraftLength(request.rules.draft), .left = allowed(row)});
  }

  void move(std::span<const std::size_t> rows) override {
    const std::size_t steps = request_.rules.steps;
    MeanSteps mean(committee_, request_.parameters, rows.size());
    std::vector<std::size_t> at, ends(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Trip& trip = trips_[rows[i]];
      trip.checked = trip.alone ? 0 : std::min({trip.length.next(), steps - trip.base, trip.left});
      // What nobody can check is made to the end.
      ends[i] = trip.checked > 0 ? trip.base + trip.checked : steps;
      courses_[rows[i]].beyond =
          courses_[rows[i]].beyond || (trip.checked == 0 && trip.base < steps);
      trip.step = trip.base;
      if (trip.step == ends[i]) continue;
      mean.put(i, rows[i], trip.step, single(rows[i], trip.step));
      at.push_back(i);
    }
    while (!at.empty()) {
      mean.advance(at);
      std::vector<std::size_t> more;
      for (const std::size_t i : at) {
        Trip& trip = trips_[rows[i]];
        convert(mean.get(i), state(rows[i], ++trip.step));
        if (trip.checked == 0)
          courses_[rows[i]].predicted[trip.step] = std::numeric_limits<double>::infinity();
        if (trip.step < ends[i]) more.push_back(i);
      }
      at = std::move(more);
    }
    for (const std::size_t row : rows) {
      Trip& trip = trips_[row];
      courses_[row].settled = trip.checked > 0 ? trip.base : steps;
      for (std::size_t i = 0; i < trip.checked; ++i)
        ask(row, trip.asked++, trip.base + i, state(row, trip.base + i));
    }
  }

 private:
  struct Trip {
    DraftLength length;
    std::size_t left = 0;            // solver steps
    std::size_t base = 0, step = 0;  // the last state of the solver; as far as it is drafted
    std::size_t checked = 0;         // steps of the draft that the solver is asked for
    std::size_t asked = 0;           // questions so far
    bool alone = false;              // the solver cannot go on
  };

  bool use(std::size_t row, std::span<AnswerRecord> answers) override {
    Trip& trip = trips_[row];
    trip.left -= answers.size();
    // The surrogate's drafts may be what the solver refuses: only the first is from its own state.
    std::size_t good = 0;
    std::vector<double> differences;
    while (good < answers.size() && answers[good].status == Answer::Status::ok) {
      differences.push_back(state_distance(answers[good].state, state(row, trip.base + good + 1),
                                           committee_.grid().channels));
      ++good;
    }
    const std::size_t accepted = accepted_steps(differences, request_.rules.tolerance);
    trip.length.checked(accepted);
    trip.alone = good == 0;
    if (trip.alone) return false;
    // The last one is the solver's: at a miss because it must be, else because it is there.
    const std::size_t made = std::min(accepted + 1, good);
    Course& course = courses_[row];
    for (std::size_t i = 0; i < made; ++i) course.predicted[trip.base + i + 1] = differences[i];
    std::ranges::copy(answers[made - 1].state, state(row, trip.base + made).begin());
    course.predicted[trip.base + made] = 0.0;
    course.by_solver[trip.base + made - 1] = 1;
    trip.base += made;
    return true;
  }

  std::vector<Trip> trips_;
};

}  // namespace

Courses::Courses(const SimulationRequest& request, Committee& committee)
    : request_(request),
      committee_(committee),
      courses_(request.initial.count()),
      singles_(request.initial.count()) {
  const std::size_t steps = request.rules.steps, values = committee.grid().values();
  for (std::size_t row = 0; row < courses_.size(); ++row) {
    Course& course = courses_[row];
    course.states.resize((steps + 1) * values);
    course.predicted.resize(steps + 1);
    course.by_solver.resize(steps);
    course.paid.resize(steps);
    std::ranges::copy(request.initial.row(row), course.states.begin());
    singles_[row].resize(values);
  }
}

void Courses::take(std::size_t row, std::span<AnswerRecord> answers) {
  Course& course = courses_[row];
  for (std::size_t i = 0; i < answers.size(); ++i) {
    CourseQuestion& question = course.questions[i];
    const AnswerRecord& answer = answers[i];
    if (answer.status != Answer::Status::refused) ++course.paid[question.step];
    if (answer.status == Answer::Status::ok)
      course.solved.push_back({question.step, std::move(question.input), answer.state});
    else
      course.troubles.push_back(fmt::format("trajectory {}, step {}: {}: {}", row,
                                            question.step + 1, to_string(answer.status),
                                            answer.reason));
  }
  const std::size_t first = course.questions.front().step;
  course.questions.clear();
  if (!use(row, answers) && course.failed_step < 0)
    course.failed_step = static_cast<std::int64_t>(first) + 1;
}

std::span<double> Courses::state(std::size_t row, std::size_t time) {
  const std::size_t values = committee_.grid().values();
  return std::span(courses_[row].states).subspan(time * values, values);
}

std::span<const float> Courses::single(std::size_t row, std::size_t time) {
  convert(std::span<const double>(state(row, time)), std::span(singles_[row]));
  return singles_[row];
}

void Courses::ask(std::size_t row, std::size_t number, std::size_t step,
                  std::span<const double> input) {
  courses_[row].questions.push_back({number, step, {input.begin(), input.end()}});
}

std::size_t Courses::allowed(std::size_t row) const {
  const SimulationRules& rules = request_.rules;
  std::size_t most = rules.how == How::tolerance ? rules.steps
                     : rules.how == How::share   ? shared_steps(rules)
                                                 : rules.steps * rules.draft;
  if (rules.most)
    most = std::min(most, *rules.most / count() + (row < *rules.most % count() ? 1 : 0));
  return most;
}

std::unique_ptr<Courses> make_courses(const SimulationRequest& request, Committee& committee,
                                      Observer& observer, const StopAsked& stop) {
  switch (request.rules.how) {
    case How::tolerance:
      return std::make_unique<ToleranceCourses>(request, committee);
    case How::share:
      return std::make_unique<ShareCourses>(request, committee, observer, stop);
    case How::verify:
      break;
  }
  return std::make_unique<VerifiedCourses>(request, committee);
}

double bytes_of_courses(const SimulationRequest& request) {
  const double values = static_cast<double>(request.initial.grid().values()),
               steps = static_cast<double>(request.rules.steps),
               rows = static_cast<double>(request.initial.count());
  // States, and of each step a prediction, a cost and a maker.
  return rows * ((steps + 1) * values * sizeof(double) + steps * 17);
}

std::size_t shared_steps(const SimulationRules& rules) {
  const double steps = std::round(rules.share * static_cast<double>(rules.steps));
  return std::clamp<std::size_t>(static_cast<std::size_t>(steps), 1, rules.steps);
}

}  // namespace stap
