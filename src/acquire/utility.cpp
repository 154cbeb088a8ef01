#include "acquire/utility.h"

#include <algorithm>
#include <utility>

#include "acquire/candidate_rows.h"

namespace stap {
namespace {

std::vector<int> models_of(std::span<const ModelPair> pairs) {
  std::vector<int> models;
  for (const ModelPair& pair : pairs) models.insert(models.end(), {pair.a, pair.b});
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

std::size_t rows_per_candidate(std::size_t steps, std::span<const ModelPair> pairs) {
  return steps * (models_of(pairs).size() + 2 * pairs.size());
}

// How many steps from the start have the same bit as the first one.
std::size_t leading_run(const Pattern& pattern) {
  std::size_t n = 1;
  while (n < pattern.steps() && pattern[n] == pattern[0]) ++n;
  return n;
}

}  // namespace

std::vector<ModelPair> ordered_pairs(int members) {
  std::vector<ModelPair> pairs;
  for (int a = 0; a < members; ++a)
    for (int b = 0; b < members; ++b)
      if (a != b) pairs.push_back({a, b});
  return pairs;
}

std::vector<ModelPair> mean_field_pairs(int members) {
  std::vector<ModelPair> pairs;
  for (int b = 0; b < members; ++b) pairs.push_back({kMean, b});
  return pairs;
}

std::size_t Utility::fitting(std::size_t values, const Committee& committee, std::size_t steps,
                             std::span<const ModelPair> pairs) {
  const std::size_t each = rows_per_candidate(steps, pairs) * committee.grid().values();
  return std::max<std::size_t>(1, values / std::max<std::size_t>(1, each));
}

Utility::Utility(Committee& committee, const Candidates& candidates,
                 std::span<const std::size_t> ids, std::vector<ModelPair> pairs)
    : committee_(committee),
      steps_(candidates.steps),
      pairs_(std::move(pairs)),
      models_(models_of(pairs_)),
      stride_(rows_per_candidate(steps_, pairs_)),
      rows_(committee, ids.size() * stride_),
      pair_distances_(ids.size() * pairs_.size() * steps_),
      standing_(ids.size()),
      trial_(ids.size()) {
  const auto position = [&](int model) {
    return static_cast<std::size_t>(std::lower_bound(models_.begin(), models_.end(), model) -
                                    models_.begin());
  };
  for (const ModelPair& pair : pairs_) {
    model_a_.push_back(position(pair.a));
    model_b_.push_back(position(pair.b));
  }
  roll_out(candidates, ids);
  measure_pairs();
  for (std::size_t c = 0; c < ids.size(); ++c) {
    Path& path = standing_[c];
    path.pattern = Pattern(steps_, true);
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      for (std::size_t step = 0; step < steps_; ++step) path.rows.push_back(target_row(c, p, step));
    path.distances.assign(pairs_.size() * steps_, 0.0);
    path.value = sum(c, path);
  }
}

void Utility::roll_out(const Candidates& candidates, std::span<const std::size_t> ids) {
  const std::size_t n = ids.size() * models_.size();
  const ResidentRows initial(committee_, ids.size());
  put_candidates(committee_, initial, candidates, ids);
  std::vector<std::size_t> from(n), to(n);
  std::vector<int> model(n);
  for (std::size_t r = 0; r < n; ++r) {
    from[r] = r / models_.size();
    model[r] = models_[r % models_.size()];
  }
  for (std::size_t step = 0; step < steps_; ++step) {
    for (std::size_t r = 0; r < n; ++r)
      to[r] = rollout_row(r / models_.size(), r % models_.size(), step);
    const std::vector<double> time(n, input_time(step + 1, steps_));
    committee_.advance(step == 0 ? RowsId(initial) : RowsId(rows_), from, model, time, rows_, to);
    from = to;
  }
}

void Utility::measure_pairs() {
  std::vector<std::size_t> a, b;
  for (std::size_t c = 0; c < candidates(); ++c)
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      for (std::size_t step = 0; step < steps_; ++step) {
        a.push_back(target_row(c, p, step));
        b.push_back(rollout_row(c, model_b_[p], step));
      }
  committee_.distance2(rows_, a, rows_, b, pair_distances_);
}

std::size_t Utility::first_new_step(const Trial& trial) const {
  return std::max(leading_run(trial.pattern),
                  trial.pattern.first_difference(standing_[trial.candidate].pattern));
}

double Utility::bound(const Trial& trial) const {
  // Sums of the same terms in another order differ by far less than this.
  constexpr double rounding = 1e-9;
  const std::size_t c = trial.candidate, first = first_new_step(trial);
  const std::size_t run = leading_run(trial.pattern);
  double sum = 0.0, size = 0.0;
  for (std::size_t p = 0; p < pairs_.size(); ++p)
    for (std::size_t step = 0; step < steps_; ++step) {
      const double d = pair_distance(c, p, step);
      double known = 0.0;
      if (step < run)
        known = trial.pattern[0] ? 0.0 : d;
      else if (step < first)
        known = standing_[c].distances[at(p, step)];
      sum += d - known;
      size += d + known;
    }
  return (sum + rounding * size) / static_cast<double>(pairs_.size());
}

// Fills all of the trial's path that is known already; returns the first step that is not.
std::size_t Utility::prepare(const Trial& trial) {
  const std::size_t c = trial.candidate;
  const Path& standing = standing_[c];
  Path& path = trial_[c];
  path = standing;
  path.pattern = trial.pattern;
  const std::size_t run = leading_run(trial.pattern);
  const bool ones = trial.pattern[0];
  const std::size_t first = first_new_step(trial);
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    for (std::size_t step = 0; step < run; ++step) {
      path.rows[at(p, step)] = rollout_row(c, ones ? model_a_[p] : model_b_[p], step);
      path.distances[at(p, step)] = ones ? 0.0 : pair_distance(c, p, step);
    }
    // The place that the standing path does not use.
    for (std::size_t step = first; step < steps_; ++step) {
      const std::size_t own = own_row(c, p, step);
      path.rows[at(p, step)] = standing.rows[at(p, step)] == own ? own + 1 : own;
    }
  }
  return first;
}

std::vector<double> Utility::evaluate(std::span<const Trial> trials) {
  std::vector<std::size_t> first;
  for (const Trial& trial : trials) first.push_back(prepare(trial));

  std::vector<std::size_t> from, to, target, mixed;
  std::vector<double*> distances;
  std::vector<int> model;
  for (std::size_t step = 1; step < steps_; ++step) {
    from.clear();
    to.clear();
    model.clear();
    for (std::size_t t = 0; t < trials.size(); ++t) {
      if (step < first[t]) continue;
      const std::size_t c = trials[t].candidate;
      Path& path = trial_[c];
      for (std::size_t p = 0; p < pairs_.size(); ++p) {
        from.push_back(path.rows[at(p, step - 1)]);
        to.push_back(path.rows[at(p, step)]);
        model.push_back(path.pattern[step] ? pairs_[p].a : pairs_[p].b);
        target.push_back(target_row(c, p, step));
        distances.push_back(&path.distances[at(p, step)]);
      }
    }
    if (from.empty()) continue;
    const std::vector<double> time(from.size(), input_time(step + 1, steps_));
    committee_.advance(rows_, from, model, time, rows_, to);
    mixed.insert(mixed.end(), to.begin(), to.end());
  }

  if (!mixed.empty()) {
    std::vector<double> measured(mixed.size());
    committee_.distance2(rows_, target, rows_, mixed, measured);
    for (std::size_t r = 0; r < measured.size(); ++r) *distances[r] = measured[r];
  }
  std::vector<double> values;
  for (const Trial& trial : trials) {
    Path& path = trial_[trial.candidate];
    path.value = sum(trial.candidate, path);
    values.push_back(path.value);
  }
  return values;
}

double Utility::sum(std::size_t candidate, const Path& path) const {
  double total = 0.0;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    double reduction = 0.0;
    for (std::size_t step = 0; step < steps_; ++step)
      reduction += pair_distance(candidate, p, step) - path.distances[at(p, step)];
    total += reduction;
  }
  return total / static_cast<double>(pairs_.size());
}

void Utility::accept(std::size_t candidate) {
  std::swap(standing_[candidate], trial_[candidate]);
}

}  // namespace stap
