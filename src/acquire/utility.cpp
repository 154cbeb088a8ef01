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

// Rows of mixed rollouts to keep for a candidate, in whole patterns. A hundred proposals make up to
// fifty of them.
constexpr std::size_t kPatternsLeast = 2, kPatternsMost = 64;

std::size_t room_of(std::size_t values, std::size_t candidates, std::size_t row_values,
                    std::size_t steps, std::size_t models, std::size_t pairs) {
  const std::size_t each = values / std::max<std::size_t>(1, candidates * row_values);
  const std::size_t rollouts = models * steps, pattern = std::max<std::size_t>(1, pairs * steps);
  const std::size_t patterns = each > rollouts ? (each - rollouts) / pattern : 0;
  return std::clamp(patterns, kPatternsLeast, kPatternsMost) * pattern;
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
  const std::size_t rows = steps * (models_of(pairs).size() + kPatternsLeast * pairs.size());
  const std::size_t each = rows * committee.grid().values();
  return std::max<std::size_t>(1, values / std::max<std::size_t>(1, each));
}

Utility::Utility(Committee& committee, const Candidates& candidates,
                 std::span<const std::size_t> ids, std::vector<ModelPair> pairs, std::size_t values)
    : committee_(committee),
      steps_(candidates.steps),
      pairs_(std::move(pairs)),
      models_(models_of(pairs_)),
      room_(room_of(values, ids.size(), committee.grid().values(), steps_, models_.size(),
                    pairs_.size())),
      stride_(models_.size() * steps_ + room_),
      rows_(committee, ids.size() * stride_),
      pair_distances_(ids.size() * pairs_.size() * steps_),
      trials_(ids.size()) {
  const auto position = [&](int model) {
    return static_cast<std::size_t>(std::lower_bound(models_.begin(), models_.end(), model) -
                                    models_.begin());
  };
  for (const ModelPair& pair : pairs_) {
    model_a_.push_back(position(pair.a));
    model_b_.push_back(position(pair.b));
  }
  roll_out(candidates, ids);
  measure_pairs(ids.size());
  for (std::size_t c = 0; c < ids.size(); ++c) {
    kept_.emplace_back(steps_, pairs_.size(), rollout_row(c, models_.size(), 0), room_);
    keep_rollouts(c);
    begin(c, Pattern(steps_, true));
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

void Utility::measure_pairs(std::size_t candidates) {
  std::vector<std::size_t> a, b;
  for (std::size_t c = 0; c < candidates; ++c)
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      for (std::size_t step = 0; step < steps_; ++step) {
        a.push_back(target_row(c, p, step));
        b.push_back(rollout_row(c, model_b_[p], step));
      }
  committee_.distance2(rows_, a, rows_, b, pair_distances_);
}

void Utility::keep_rollouts(std::size_t candidate) {
  KeptPrefixes& kept = kept_[candidate];
  for (const bool ones : {true, false}) {
    const std::vector<std::size_t> prefixes = kept.of(Pattern(steps_, ones));
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      for (std::size_t step = 0; step < steps_; ++step) {
        const std::size_t model = ones ? model_a_[p] : model_b_[p];
        kept.put_row(prefixes[step], p, rollout_row(candidate, model, step));
        kept.measure(prefixes[step], p, ones ? 0.0 : pair_distance(candidate, p, step));
      }
  }
}

void Utility::begin(std::size_t candidate, const Pattern& pattern) {
  OnTrial& trial = trials_[candidate];
  trial.pattern = pattern;
  trial.prefixes = kept_[candidate].of(pattern);
  trial.known.assign(pairs_.size(), 0);
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    std::size_t& known = trial.known[p];
    while (known < steps_ && kept_[candidate].measured(trial.prefixes[known], p)) ++known;
  }
}

double Utility::bound(std::size_t candidate) const {
  // Sums of the same terms in another order differ by far less than this.
  constexpr double rounding = 1e-9;
  const OnTrial& trial = trials_[candidate];
  double sum = 0.0, size = 0.0;
  for (std::size_t p = 0; p < pairs_.size(); ++p)
    for (std::size_t step = 0; step < steps_; ++step) {
      const double d = pair_distance(candidate, p, step);
      const double mixed =
          step < trial.known[p] ? kept_[candidate].distance2(trial.prefixes[step], p) : 0.0;
      sum += d - mixed;
      size += d + mixed;
    }
  return (sum + rounding * size) / static_cast<double>(pairs_.size());
}

bool Utility::complete(std::size_t candidate) const {
  const std::vector<std::size_t>& known = trials_[candidate].known;
  return std::all_of(known.begin(), known.end(), [&](std::size_t n) { return n == steps_; });
}

double Utility::value(std::size_t candidate) const {
  const OnTrial& trial = trials_[candidate];
  double total = 0.0;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    double reduction = 0.0;
    for (std::size_t step = 0; step < steps_; ++step)
      reduction +=
          pair_distance(candidate, p, step) - kept_[candidate].distance2(trial.prefixes[step], p);
    total += reduction;
  }
  return total / static_cast<double>(pairs_.size());
}

std::vector<Utility::NewRow> Utility::next_rows(std::span<const std::size_t> candidates) {
  const std::size_t at_once =
      std::clamp<std::size_t>(committee_.rows_at_once() / candidates.size(), 1, pairs_.size());
  std::vector<NewRow> rows;
  for (const std::size_t c : candidates) {
    const OnTrial& trial = trials_[c];
    std::size_t taken = 0;
    for (std::size_t p = 0; p < pairs_.size() && taken < at_once; ++p) {
      if (trial.known[p] == steps_) continue;
      // A state whose distance is known may have made place: it is made again on the way.
      std::size_t step = trial.known[p];
      while (!kept_[c].row(trial.prefixes[step - 1], p)) --step;
      kept_[c].use_row(trial.prefixes[step - 1], p);
      rows.push_back({c, p, step, step == trial.known[p]});
      ++taken;
    }
  }
  return rows;
}

void Utility::step(std::span<const std::size_t> candidates) {
  if (candidates.empty()) return;
  const std::vector<NewRow> rows = next_rows(candidates);
  std::vector<std::size_t> from, to, target, mixed;
  std::vector<int> model;
  std::vector<double> time;
  for (const NewRow& row : rows) {
    const OnTrial& trial = trials_[row.candidate];
    KeptPrefixes& kept = kept_[row.candidate];
    from.push_back(*kept.row(trial.prefixes[row.step - 1], row.pair));
    to.push_back(kept.make_row(trial.prefixes[row.step], row.pair));
    model.push_back(trial.pattern[row.step] ? pairs_[row.pair].a : pairs_[row.pair].b);
    time.push_back(input_time(row.step + 1, steps_));
    if (!row.measured) continue;
    target.push_back(target_row(row.candidate, row.pair, row.step));
    mixed.push_back(to.back());
  }
  committee_.advance(rows_, from, model, time, rows_, to);
  if (mixed.empty()) return;

  std::vector<double> distances(mixed.size());
  committee_.distance2(rows_, target, rows_, mixed, distances);
  auto distance = distances.begin();
  for (const NewRow& row : rows) {
    if (!row.measured) continue;
    OnTrial& trial = trials_[row.candidate];
    kept_[row.candidate].measure(trial.prefixes[row.step], row.pair, *distance++);
    ++trial.known[row.pair];
  }
}

}  // namespace stap
