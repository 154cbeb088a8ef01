// Scores and search of spec/method as nested loops over plain arrays: every rollout from the start,
// nothing kept. The oracle for acquire/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "stap/core/pattern.h"
#include "stap/core/rng.h"

namespace stap::reference {

using State = std::vector<float>;
/// One learned step of one model; time of the input in [0,1] over the trajectory.
using Model = std::function<State(const State&, double time)>;

inline double distance2(const State& x, const State& y) {
  double sum = 0.0;
  for (std::size_t v = 0; v < x.size(); ++v) {
    const double d = static_cast<double>(x[v]) - static_cast<double>(y[v]);
    sum += d * d;
  }
  return sum;
}

/// u_{b,S,a}: states 1..L, a where the bit is 1, b where it is 0.
inline std::vector<State> mixed_rollout(const Model& a, const Model& b, const Pattern& s,
                                        State state) {
  std::vector<State> states;
  for (std::size_t i = 0; i < s.steps(); ++i) {
    const double time = static_cast<double>(i) / static_cast<double>(s.steps());
    state = s[i] ? a(state, time) : b(state, time);
    states.push_back(state);
  }
  return states;
}
inline std::vector<State> rollout(const Model& model, std::size_t steps, const State& u0) {
  return mixed_rollout(model, model, Pattern(steps), u0);
}

/// R(a,b,S).
inline double reduction(const Model& a, const Model& b, const Pattern& s, const State& u0) {
  const auto ua = rollout(a, s.steps(), u0), ub = rollout(b, s.steps(), u0);
  const auto mixed = mixed_rollout(a, b, s, u0);
  double sum = 0.0;
  for (std::size_t i = 0; i < s.steps(); ++i)
    sum += distance2(ua[i], ub[i]) - distance2(ua[i], mixed[i]);
  return sum;
}

/// a(u0,S) as printed: mean over ordered pairs of different members.
inline double utility(const std::vector<Model>& members, const Pattern& s, const State& u0) {
  double sum = 0.0;
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = 0; b < members.size(); ++b)
      if (a != b) {
        sum += reduction(members[a], members[b], s, u0);
        ++pairs;
      }
  return sum / static_cast<double>(pairs);
}

/// a_MF: mean over members of R(mean model, member, S).
inline double mean_field(const Model& mean, const std::vector<Model>& members, const Pattern& s,
                         const State& u0) {
  double sum = 0.0;
  for (const Model& b : members) sum += reduction(mean, b, s, u0);
  return sum / static_cast<double>(members.size());
}

/// q(u0).
inline double spread(const std::vector<Model>& members, std::size_t steps, const State& u0) {
  std::vector<std::vector<State>> u;
  for (const Model& m : members) u.push_back(rollout(m, steps, u0));
  const double count = static_cast<double>(members.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < steps; ++i)
    for (std::size_t v = 0; v < u0.size(); ++v) {
      double mean = 0.0;
      for (const auto& states : u) mean += static_cast<double>(states[i][v]) / count;
      for (const auto& states : u) {
        const double d = static_cast<double>(states[i][v]) - mean;
        sum += d * d / count;
      }
    }
  return sum;
}

struct Best {
  Pattern pattern;
  double value = 0.0;  ///< utility per step bought
};

/// The printed search for any utility a(S); `rng` is the candidate's stream. A candidate costs
/// `warm_up` steps besides those of its pattern.
inline Best search(const std::function<double(const Pattern&)>& utility_of, std::size_t steps,
                   std::size_t proposals, double epsilon, const Rng& rng, std::size_t warm_up = 0) {
  Best now{Pattern(steps, true), 0.0};
  const auto value = [&](const Pattern& s) {
    return utility_of(s) / static_cast<double>(s.cost() + warm_up);
  };
  now.value = value(now.pattern);
  for (std::size_t t = 0; t < proposals; ++t) {
    const Pattern proposal = now.pattern.flipped(epsilon, rng.split("proposal", t));
    if (proposal.cost() == 0) continue;
    const double of_proposal = value(proposal);
    if (of_proposal >= now.value) now = {proposal, of_proposal};
  }
  return now;
}

inline Best search(const std::vector<Model>& members, std::size_t steps, const State& u0,
                   std::size_t proposals, double epsilon, const Rng& rng, std::size_t warm_up = 0) {
  return search([&](const Pattern& s) { return utility(members, s, u0); }, steps, proposals,
                epsilon, rng, warm_up);
}

/// The best of all 2^L - 1 patterns; of equals the one with the fewest steps, then the first as
/// text.
inline Best exhaust(const std::vector<Model>& members, std::size_t steps, const State& u0,
                    std::size_t warm_up = 0) {
  Best best;
  for (std::size_t code = 1; code < (std::size_t{1} << steps); ++code) {
    Pattern s(steps);
    for (std::size_t i = 0; i < steps; ++i) s.set(i, (code >> i & 1) != 0);
    const double value = utility(members, s, u0) / static_cast<double>(s.cost() + warm_up);
    const bool first = best.pattern.steps() == 0, equal = value == best.value;
    const bool fewer = s.cost() < best.pattern.cost(), same = s.cost() == best.pattern.cost();
    if (first || value > best.value || (equal && fewer) ||
        (equal && same && s.text() < best.pattern.text()))
      best = {s, value};
  }
  return best;
}

/// The best pattern of a single step; of equals the last step.
inline Best best_single(const std::vector<Model>& members, std::size_t steps, const State& u0) {
  Best best;
  for (std::size_t i = 0; i < steps; ++i) {
    Pattern s(steps);
    s.set(i, true);
    const double value = utility(members, s, u0);
    if (best.pattern.steps() == 0 || value >= best.value) best = {s, value};
  }
  return best;
}

/// The single step that is likely to be the best, by the rule of acquire/single_steps.h, over
/// tables in which everything is known from the start. `value` is its utility; `looked_at` how many
/// mixed states of a pair the rule has asked for.
struct LikelyBest {
  std::size_t step = 0;
  double value = 0.0;
  std::size_t looked_at = 0;
};
inline LikelyBest likely_best(const std::vector<Model>& members, std::size_t steps,
                              const State& u0) {
  using Table = std::vector<std::vector<double>>;  // [step][time]
  std::vector<double> own(steps, 0.0);             // D
  Table left(steps, own), moved(steps, own);       // D_i, N_i
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = 0; b < members.size(); ++b) {
      if (a == b) continue;
      const auto ua = rollout(members[a], steps, u0), ub = rollout(members[b], steps, u0);
      for (std::size_t t = 0; t < steps; ++t) own[t] += distance2(ua[t], ub[t]);
      for (std::size_t i = 0; i < steps; ++i) {
        Pattern s(steps);
        s.set(i, true);
        const auto mixed = mixed_rollout(members[a], members[b], s, u0);
        for (std::size_t t = i; t < steps; ++t) {
          left[i][t] += distance2(ua[t], mixed[t]);
          moved[i][t] += distance2(ub[t], mixed[t]);
        }
      }
    }
  const auto part_made = [&](std::size_t i, std::size_t t) {
    return own[t] == 0.0 ? 0.0 : (1.0 - left[i][t] / own[t] + moved[i][t] / own[t]) / 2;
  };
  const auto score = [&](std::size_t i, std::size_t known) {  // known: states of step i
    double sum = 0.0, later = 0.0, rest = 0.0, carried = 1.0;
    for (std::size_t t = i; t < i + known; ++t) sum += own[t] - left[i][t];
    const std::size_t last = i + known - 1;
    const double n = own[last] == 0.0 ? 0.0 : moved[i][last] / own[last];
    for (std::size_t t = i + known; t < steps; ++t) {
      carried *= std::clamp(1.0 - part_made(t, t), 0.0, 1.0);
      later += own[t] * (2 * part_made(i, last) * carried - n * carried * carried);
      rest += own[t];
    }
    return sum + std::min(later, rest);
  };
  std::vector<std::size_t> known(steps, 1);
  while (true) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < steps; ++i) {
      const double of_best = score(best, known[best]), of_i = score(i, known[i]);
      const bool both = best + known[best] == steps && i + known[i] == steps;
      // Of equals the one that is not finished, then the earlier; of finished ones the last.
      if (of_i > of_best || (of_i == of_best && (both || best + known[best] == steps))) best = i;
    }
    if (best + known[best] == steps) {
      Pattern s(steps);
      s.set(best, true);
      std::size_t states = 0;
      for (const std::size_t k : known) states += k;
      return {best, utility(members, s, u0), states};
    }
    ++known[best];
  }
}

}  // namespace stap::reference
