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

std::size_t room_of(std::size_t values, std::size_t places, std::size_t row_values,
                    std::size_t steps, std::size_t models, std::size_t pairs) {
  const std::size_t each = values / std::max<std::size_t>(1, places * row_values);
  const std::size_t rollouts = 1 + models * steps,
                    pattern = std::max<std::size_t>(1, pairs * steps);
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
  const std::size_t rows = 1 + steps * (models_of(pairs).size() + kPatternsLeast * pairs.size());
  const std::size_t each = rows * committee.grid().values();
  return std::max<std::size_t>(1, values / std::max<std::size_t>(1, each));
}

Utility::Utility(Committee& committee, const Candidates& candidates, std::size_t places,
                 std::vector<ModelPair> pairs, std::size_t values)
    : committee_(committee),
      pool_(candidates.states),
      steps_(candidates.steps),
      pairs_(std::move(pairs)),
      models_(models_of(pairs_)),
      room_(room_of(values, places, committee.grid().values(), steps_, models_.size(),
                    pairs_.size())),
      stride_(1 + models_.size() * steps_ + room_),
      rows_(committee, places * stride_) {
  const auto position = [&](int model) {
    return static_cast<std::size_t>(std::lower_bound(models_.begin(), models_.end(), model) -
                                    models_.begin());
  };
  for (const ModelPair& pair : pairs_) {
    model_a_.push_back(position(pair.a));
    model_b_.push_back(position(pair.b));
  }
  for (std::size_t place = 0; place < places; ++place)
    places_.push_back({KeptPrefixes(steps_, pairs_.size(), 0, 0), 0, {}, {}, {}, {}});
}

void Utility::enter(std::size_t place, std::size_t id) {
  committee_.put(rows_, initial_row(place), {pool_.row(id).data(), 1, pool_.row_size});
  places_[place] = {
      KeptPrefixes(steps_, pairs_.size(), rollout_row(place, models_.size(), 0), room_),
      0,
      std::vector<double>(pairs_.size() * steps_),
      {},
      {},
      {}};
}

void Utility::keep_rollouts(std::size_t place) {
  KeptPrefixes& kept = places_[place].kept;
  for (const bool ones : {true, false}) {
    const std::vector<std::size_t> prefixes = kept.of(Pattern(steps_, ones));
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      for (std::size_t step = 0; step < steps_; ++step) {
        const std::size_t model = ones ? model_a_[p] : model_b_[p];
        kept.put_row(prefixes[step], p, rollout_row(place, model, step));
        kept.measure(prefixes[step], p, ones ? 0.0 : pair_distance(place, p, step));
      }
  }
}

void Utility::begin(std::size_t place, const Pattern& pattern) {
  Place& at = places_[place];
  at.pattern = pattern;
  at.prefixes = at.kept.of(pattern);
  at.known.assign(pairs_.size(), 0);
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    std::size_t& known = at.known[p];
    while (known < steps_ && at.kept.measured(at.prefixes[known], p)) ++known;
  }
}

double Utility::bound(std::size_t place) const {
  // Sums of the same terms in another order differ by far less than this.
  constexpr double rounding = 1e-9;
  const Place& at = places_[place];
  double sum = 0.0, size = 0.0;
  for (std::size_t p = 0; p < pairs_.size(); ++p)
    for (std::size_t step = 0; step < steps_; ++step) {
      const double d = pair_distance(place, p, step);
      const double mixed = step < at.known[p] ? at.kept.distance2(at.prefixes[step], p) : 0.0;
      sum += d - mixed;
      size += d + mixed;
    }
  return (sum + rounding * size) / static_cast<double>(pairs_.size());
}

bool Utility::complete(std::size_t place) const {
  const std::vector<std::size_t>& known = places_[place].known;
  return std::all_of(known.begin(), known.end(), [&](std::size_t n) { return n == steps_; });
}

double Utility::value(std::size_t place) const {
  const Place& at = places_[place];
  double total = 0.0;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    double reduction = 0.0;
    for (std::size_t step = 0; step < steps_; ++step)
      reduction += pair_distance(place, p, step) - at.kept.distance2(at.prefixes[step], p);
    total += reduction;
  }
  return total / static_cast<double>(pairs_.size());
}

std::vector<Utility::NewRow> Utility::next_rows(std::span<const std::size_t> places) {
  const std::size_t at_once =
      std::clamp<std::size_t>(committee_.rows_at_once() / places.size(), 1, pairs_.size());
  std::vector<NewRow> rows;
  for (const std::size_t place : places) {
    if (!rolled_out(place)) continue;
    Place& at = places_[place];
    std::size_t taken = 0;
    for (std::size_t p = 0; p < pairs_.size() && taken < at_once; ++p) {
      if (at.known[p] == steps_) continue;
      // A state whose distance is known may have made place: it is made again on the way.
      std::size_t step = at.known[p];
      while (!at.kept.row(at.prefixes[step - 1], p)) --step;
      at.kept.use_row(at.prefixes[step - 1], p);
      rows.push_back({place, p, step, step == at.known[p]});
      ++taken;
    }
  }
  return rows;
}

void Utility::step(std::span<const std::size_t> places) {
  if (places.empty()) return;
  std::vector<std::size_t> from, to, target, mixed;
  std::vector<int> model;
  std::vector<double> time;
  const auto make = [&](std::size_t from_row, std::size_t to_row, int by, std::size_t step) {
    from.push_back(from_row);
    to.push_back(to_row);
    model.push_back(by);
    time.push_back(input_time(step + 1, steps_));
  };
  const auto measure = [&](std::size_t place, std::size_t pair, std::size_t step, std::size_t row) {
    target.push_back(target_row(place, pair, step));
    mixed.push_back(row);
  };
  for (const std::size_t place : places) {
    if (rolled_out(place)) continue;
    const std::size_t step = places_[place].rolled_out;
    for (std::size_t m = 0; m < models_.size(); ++m)
      make(step == 0 ? initial_row(place) : rollout_row(place, m, step - 1),
           rollout_row(place, m, step), models_[m], step);
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      measure(place, p, step, rollout_row(place, model_b_[p], step));
  }
  const std::vector<NewRow> rows = next_rows(places);
  for (const auto& [place, pair, step, measured] : rows) {
    Place& at = places_[place];
    const std::size_t before = *at.kept.row(at.prefixes[step - 1], pair);
    make(before, at.kept.make_row(at.prefixes[step], pair),
         at.pattern[step] ? pairs_[pair].a : pairs_[pair].b, step);
    if (measured) measure(place, pair, step, to.back());
  }
  committee_.advance(rows_, from, model, time, rows_, to);
  if (mixed.empty()) return;

  std::vector<double> distances(mixed.size());
  committee_.distance2(rows_, target, rows_, mixed, distances);
  auto distance = distances.begin();
  for (const std::size_t place : places) {
    if (rolled_out(place)) continue;
    Place& at = places_[place];
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      at.pair_distances[p * steps_ + at.rolled_out] = *distance++;
    if (++at.rolled_out == steps_) keep_rollouts(place);
  }
  for (const NewRow& row : rows) {
    if (!row.measured) continue;
    Place& at = places_[row.place];
    at.kept.measure(at.prefixes[row.step], row.pair, *distance++);
    ++at.known[row.pair];
  }
}

}  // namespace stap
