#include "stap/acquire/solver_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "stap/core/error.h"
#include "stap/core/resident_rows.h"

namespace stap {
namespace {

constexpr std::size_t kParts = 8;  // of a trajectory, between times that are kept
constexpr double kWorst = std::numeric_limits<double>::infinity();

// Sums of squares that left the numbers are no good.
double orderly(double value) {
  return std::isfinite(value) ? value : kWorst;
}

// All rollouts of one trajectory. Rows, by member: the members' own rollouts [steps + 1]; then
// those of the pattern at hand, in two rows that take turns; then one for each step that might be
// added to it. Patterns that are asked one after the other share their beginnings: at some times
// rows and sums stay, [1 + time] rows by member, and the next pattern goes on from the last of
// these times before it differs.
class Rollouts {
 public:
  Rollouts(Committee& committee, const StepsToPlace& wanted, const StopAsked& stop)
      : committee_(committee),
        wanted_(wanted),
        stop_(stop),
        members_(static_cast<std::size_t>(committee.members())),
        kept_(kept_times(wanted.steps, members_)),
        rows_(committee, kept_rows(kept_, wanted.steps, members_)) {
    Conditions conditions;
    conditions.add(wanted.step, wanted.parameters);
    const StatesView<const float> state{wanted.state.data(), 1, wanted.state.size()};
    for (std::size_t m = 0; m < members_; ++m)
      for (const std::size_t row : {own(m, 0), base(m, 0)})
        committee.put(rows_, row, state, conditions.view());
    initial_ = conditions;
    std::vector<int> model(members_);
    for (std::size_t m = 0; m < members_; ++m) model[m] = static_cast<int>(m);
    for (std::size_t t = 0; t < wanted.steps; ++t) {
      look();
      std::vector<std::size_t> from, to;
      for (std::size_t m = 0; m < members_; ++m) {
        from.push_back(own(m, t));
        to.push_back(own(m, t + 1));
      }
      committee.advance(rows_, from, model, rows_, to);
    }
  }

  // What is gained by adding one step to a pattern: the sums of squares with each that it does not
  // have (infinite for those it has).
  std::vector<double> sums_with(const Pattern& pattern) {
    std::vector<double> with = roll(pattern, true).with;
    for (std::size_t t = 0; t < wanted_.steps; ++t)
      with[t] = pattern[t] ? kWorst : orderly(with[t]);
    return with;
  }
  // [steps]: the mean over members of the squares of the pattern itself.
  std::vector<double> squared(const Pattern& pattern) {
    std::vector<double> squared = roll(pattern, false).squared;
    for (double& square : squared) square /= static_cast<double>(members_);
    return squared;
  }

 private:
  // Over members, of trials and of the pattern itself.
  struct Sums {
    std::vector<double> with, squared;  // [steps] each
  };
  // A time at which rows and sums stay.
  struct Kept {
    std::size_t time = 0, first = 0;  // of its rows
    Sums sums{};                      // of the steps before it
  };
  static std::vector<Kept> kept_times(std::size_t steps, std::size_t members) {
    std::vector<Kept> kept;
    std::size_t first = members * (2 * steps + 3);
    for (std::size_t k = 1; k < kParts; ++k) {
      const std::size_t time = k * steps / kParts;
      if (time == (kept.empty() ? 0 : kept.back().time)) continue;
      kept.push_back({time, first});
      first += members * (1 + time);
    }
    return kept;
  }
  static std::size_t kept_rows(const std::vector<Kept>& kept, std::size_t steps,
                               std::size_t members) {
    return kept.empty() ? members * (2 * steps + 3)
                        : kept.back().first + members * (1 + kept.back().time);
  }

  // Without trials, `with` is of no use.
  Sums roll(const Pattern& pattern, bool trials) {
    const std::size_t steps = wanted_.steps;
    Sums sums{std::vector<double>(steps, 0.0), std::vector<double>(steps, 0.0)};
    std::size_t begin = 0;
    if (last_) {
      std::size_t same = 0;
      while (same < steps && pattern[same] == (*last_)[same]) ++same;
      for (const Kept& kept : kept_)
        if (kept.time <= same) {
          begin = kept.time;
          sums = kept.sums;
        }
    }
    last_.reset();
    if (begin == 0) {
      const StatesView<const float> state{wanted_.state.data(), 1, wanted_.state.size()};
      for (std::size_t m = 0; m < members_; ++m)
        committee_.put(rows_, base(m, 0), state, initial_.view());
    }
    std::vector<std::size_t> from, to, target;
    std::vector<int> model;
    std::vector<double> distance;
    for (std::size_t t = begin; t < steps; ++t) {
      look();
      from.clear(), to.clear(), target.clear(), model.clear();
      const auto make = [&](std::size_t m, std::size_t source, std::size_t goal, bool solver) {
        from.push_back(source);
        to.push_back(goal);
        target.push_back(own(m, t + 1));
        model.push_back(solver ? static_cast<int>(m) : kMean);
      };
      for (std::size_t m = 0; m < members_; ++m) {
        make(m, base(m, t), base(m, t + 1), pattern[t]);
        for (std::size_t c = 0; trials && c <= t; ++c)
          if (!pattern[c])
            make(m, c == t ? base(m, t) : trial(m, c, t), trial(m, c, t + 1), c == t || pattern[t]);
      }
      committee_.advance(rows_, from, model, rows_, to);
      distance.resize(to.size());
      committee_.distance2(rows_, to, rows_, target, distance);
      std::size_t next = 0;
      std::vector<double> now(steps, 0.0);
      for (std::size_t m = 0; m < members_; ++m) {
        sums.squared[t] += distance[next++];
        for (std::size_t c = 0; trials && c <= t; ++c)
          if (!pattern[c]) now[c] += distance[next++];
      }
      for (std::size_t c = 0; c < steps; ++c)
        sums.with[c] += c <= t ? now[c] : sums.squared[t];  // it is not there yet
      for (Kept& kept : kept_)
        if (kept.time == t + 1) kept.sums = sums;
    }
    if (trials) last_ = pattern;
    return sums;
  }

  void look() const {
    if (stop_ && stop_()) throw Stopped();
  }
  const Kept* kept_at(std::size_t time) const {
    const auto kept = std::ranges::find(kept_, time, &Kept::time);
    return kept == kept_.end() ? nullptr : &*kept;
  }
  std::size_t own(std::size_t m, std::size_t time) const { return m * (wanted_.steps + 1) + time; }
  std::size_t base(std::size_t m, std::size_t time) const {
    if (const Kept* kept = kept_at(time)) return kept->first + m * (1 + time) + time;
    return members_ * (wanted_.steps + 1) + 2 * m + time % 2;
  }
  std::size_t trial(std::size_t m, std::size_t step, std::size_t time) const {
    if (const Kept* kept = kept_at(time)) return kept->first + m * (1 + time) + step;
    return members_ * (wanted_.steps + 3) + m * wanted_.steps + step;
  }

  Committee& committee_;
  const StepsToPlace& wanted_;
  const StopAsked& stop_;
  std::size_t members_;
  std::vector<Kept> kept_;
  ResidentRows rows_;
  Conditions initial_;
  std::optional<Pattern> last_;  // whose rows and sums are kept
};

// The first of the least that is free; where all are beyond the numbers, too.
std::size_t best_of(const std::vector<double>& with, const Pattern& pattern) {
  std::optional<std::size_t> best;
  for (std::size_t step = 0; step < with.size(); ++step)
    if (!pattern[step] && (!best || with[step] < with[*best])) best = step;
  return *best;
}

}  // namespace

PlacedSteps place_solver_steps(Committee& committee, const StepsToPlace& wanted,
                               const StopAsked& stop) {
  if (committee.members() < 2)
    throw Error(ErrorKind::config,
                "networks that disagree say where the solver helps most, but there is only one: "
                "place its steps at equal distances");
  if (wanted.cost > wanted.steps || wanted.steps == 0)
    throw Error(ErrorKind::internal, "more steps of the solver than there are");
  PlacedSteps placed{Pattern(wanted.steps)};
  Rollouts rollouts(committee, wanted, stop);
  Pattern& pattern = placed.pattern;
  for (std::size_t k = 0; k < wanted.cost; ++k)
    pattern.set(best_of(rollouts.sums_with(pattern), pattern), true);
  if (wanted.cost > 1 && wanted.cost < wanted.steps)
    for (std::size_t step = 0; step < wanted.steps; ++step) {
      if (!pattern[step]) continue;
      pattern.set(step, false);
      const std::vector<double> with = rollouts.sums_with(pattern);
      const std::size_t best = best_of(with, pattern);
      pattern.set(with[best] < with[step] ? best : step, true);
    }
  placed.squared = rollouts.squared(pattern);
  return placed;
}

Pattern even_steps(std::size_t steps, std::size_t cost) {
  Pattern pattern(steps);
  for (std::size_t k = 0; k < cost; ++k) pattern.set(k * steps / cost, true);
  return pattern;
}

Pattern random_steps(std::size_t steps, std::size_t cost, const Rng& rng) {
  std::vector<std::uint32_t> order;
  shuffle(rng, steps, order);
  Pattern pattern(steps);
  for (std::size_t k = 0; k < cost; ++k) pattern.set(order[k], true);
  return pattern;
}

}  // namespace stap
