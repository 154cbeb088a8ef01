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

// A step of all trials of a place must find room for the states it reads and those it makes.
std::size_t least_room(std::size_t steps, std::size_t pairs) {
  return std::max(kPatternsLeast * pairs * steps, 2 * kTrialsMost);
}

std::size_t room_of(std::size_t values, std::size_t places, std::size_t row_values,
                    std::size_t steps, std::size_t models, std::size_t pairs) {
  const std::size_t each = values / std::max<std::size_t>(1, places * row_values);
  const std::size_t rollouts = 1 + models * steps,
                    pattern = std::max<std::size_t>(1, pairs * steps);
  const std::size_t patterns = each > rollouts ? (each - rollouts) / pattern : 0;
  return std::clamp(patterns, kPatternsLeast, kPatternsMost) * pattern;
}

}  // namespace

std::size_t Utility::fitting(std::size_t values, const Committee& committee, std::size_t steps,
                             std::span<const ModelPair> pairs) {
  const std::size_t rows = 1 + steps * models_of(pairs).size() + least_room(steps, pairs.size());
  const std::size_t each = rows * committee.grid().values();
  return std::max<std::size_t>(1, values / std::max<std::size_t>(1, each));
}

Utility::Utility(Committee& committee, const Candidates& candidates, std::size_t places,
                 std::vector<ModelPair> pairs, std::size_t values)
    : committee_(committee),
      pool_(candidates.states),
      conditions_(candidates.conditions),
      steps_(candidates.steps),
      warm_up_(candidates.warm_up),
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
    places_.push_back({KeptPrefixes(steps_, pairs_.size(), 0, 0), 0, {}, {}});
}

void Utility::enter(std::size_t place, std::size_t id) {
  committee_.put(rows_, initial_row(place), pool_.rows(id, 1), conditions_.part(id, 1));
  places_[place] = {
      KeptPrefixes(steps_, pairs_.size(), rollout_row(place, models_.size(), 0), room_),
      0,
      std::vector<double>(pairs_.size() * steps_),
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

Trial Utility::begin(std::size_t place, const Pattern& pattern) {
  Trial trial{place, pattern, places_[place].kept.of(pattern),
              std::vector<std::size_t>(pairs_.size(), 0)};
  look_up(trial);
  return trial;
}

// Trials of a place find out for each other what their common prefixes tell.
void Utility::look_up(Trial& trial) const {
  const KeptPrefixes& kept = places_[trial.place].kept;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    std::size_t& known = trial.known[p];
    while (known < steps_ && kept.measured(trial.prefixes[known], p)) ++known;
  }
}

double Utility::bound(const Trial& trial) const {
  // Sums of the same terms in another order differ by far less than this.
  constexpr double rounding = 1e-9;
  const KeptPrefixes& kept = places_[trial.place].kept;
  double sum = 0.0, size = 0.0;
  for (std::size_t p = 0; p < pairs_.size(); ++p)
    for (std::size_t step = 0; step < steps_; ++step) {
      const double d = pair_distance(trial.place, p, step);
      const double mixed = step < trial.known[p] ? kept.distance2(trial.prefixes[step], p) : 0.0;
      sum += d - mixed;
      size += d + mixed;
    }
  return (sum + rounding * size) / static_cast<double>(pairs_.size());
}

bool Utility::complete(const Trial& trial) const {
  return std::all_of(trial.known.begin(), trial.known.end(),
                     [&](std::size_t n) { return n == steps_; });
}

double Utility::value(const Trial& trial) const {
  const KeptPrefixes& kept = places_[trial.place].kept;
  double total = 0.0;
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    double reduction = 0.0;
    for (std::size_t step = 0; step < steps_; ++step)
      reduction += pair_distance(trial.place, p, step) - kept.distance2(trial.prefixes[step], p);
    total += reduction;
  }
  return total / static_cast<double>(pairs_.size());
}

std::vector<Utility::NewState> Utility::next_states(std::span<Trial* const> trials) {
  for (const Trial* trial : trials) places_[trial->place].in_making.clear();
  std::vector<NewState> states;
  for (Trial* trial : trials) {
    Place& at = places_[trial->place];
    const auto pair =
        static_cast<std::size_t>(std::find_if(trial->known.begin(), trial->known.end(),
                                              [&](std::size_t n) { return n < steps_; }) -
                                 trial->known.begin());
    if (pair == pairs_.size()) continue;
    // A state whose distance is known may have made place: it is made again on the way.
    std::size_t step = trial->known[pair];
    while (!at.kept.row(trial->prefixes[step - 1], pair)) --step;
    // Another trial of the place makes it.
    const std::size_t state = trial->prefixes[step] * pairs_.size() + pair;
    if (std::find(at.in_making.begin(), at.in_making.end(), state) != at.in_making.end()) continue;
    at.in_making.push_back(state);
    at.kept.use_row(trial->prefixes[step - 1], pair);
    states.push_back({trial, pair, step, step == trial->known[pair]});
  }
  return states;
}

void Utility::step(std::span<const std::size_t> entering, std::span<Trial* const> trials) {
  std::vector<std::size_t> from, to, target, mixed;
  std::vector<int> model;
  const auto make = [&](std::size_t from_row, std::size_t to_row, int by) {
    from.push_back(from_row);
    to.push_back(to_row);
    model.push_back(by);
  };
  const auto measure = [&](std::size_t place, std::size_t pair, std::size_t step, std::size_t row) {
    target.push_back(target_row(place, pair, step));
    mixed.push_back(row);
  };
  for (const std::size_t place : entering) {
    const std::size_t step = places_[place].rolled_out;
    for (std::size_t m = 0; m < models_.size(); ++m)
      make(step == 0 ? initial_row(place) : rollout_row(place, m, step - 1),
           rollout_row(place, m, step), models_[m]);
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      measure(place, p, step, rollout_row(place, model_b_[p], step));
  }
  const std::vector<NewState> states = next_states(trials);
  for (const auto& [trial, pair, step, measured] : states) {
    KeptPrefixes& kept = places_[trial->place].kept;
    const std::size_t before = *kept.row(trial->prefixes[step - 1], pair);
    make(before, kept.make_row(trial->prefixes[step], pair),
         trial->pattern[step] ? pairs_[pair].a : pairs_[pair].b);
    if (measured) measure(trial->place, pair, step, to.back());
  }
  if (!to.empty()) committee_.advance(rows_, from, model, rows_, to);

  std::vector<double> distances(mixed.size());
  if (!mixed.empty()) committee_.distance2(rows_, target, rows_, mixed, distances);
  auto distance = distances.begin();
  for (const std::size_t place : entering) {
    Place& at = places_[place];
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      at.pair_distances[p * steps_ + at.rolled_out] = *distance++;
    if (++at.rolled_out == steps_) keep_rollouts(place);
  }
  for (const auto& [trial, pair, step, measured] : states)
    if (measured) places_[trial->place].kept.measure(trial->prefixes[step], pair, *distance++);
  for (Trial* trial : trials) look_up(*trial);
}

}  // namespace stap
