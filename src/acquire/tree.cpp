#include "acquire/tree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "acquire/candidate_rows.h"

namespace stap {
namespace {

// Whether a should be taken instead of b.
bool better(const Found& a, const Found& b) {
  if (a.value != b.value) return a.value > b.value;
  const std::size_t cost_a = a.pattern.cost(), cost_b = b.pattern.cost();
  return cost_a != cost_b ? cost_a < cost_b : a.pattern.text() < b.pattern.text();
}

// The first steps of a pattern; later bits are 0.
struct Prefix {
  std::size_t candidate = 0;
  Pattern pattern;
  std::size_t cost = 0;
  std::vector<double> reductions;  // of every pair, summed over its steps
  std::size_t parent = 0;          // place of the prefix it continues, in its level
};

// Depth first, many prefixes of one length at a time: every level has places for as many prefixes
// as are advanced together, each with a row for every pair.
class Tree {
 public:
  Tree(Committee& committee, const Utility& utility, std::vector<Found> start,
       std::size_t rows_at_once)
      : committee_(committee),
        utility_(utility),
        pairs_(utility.pairs().size()),
        places_(std::max<std::size_t>(2, rows_at_once / pairs_)),
        rows_(committee, utility.steps() * places_ * pairs_),
        best_(std::move(start)) {
    for (std::size_t c = 0; c < utility.places(); ++c)
      for (std::size_t step = 0; step <= utility.steps(); ++step) {
        double rest = 0.0;
        for (std::size_t p = 0; p < pairs_; ++p)
          for (std::size_t later = step; later < utility.steps(); ++later)
            rest += utility.pair_distance(c, p, later);
        rest_.push_back(rest);
      }
  }

  // `initial` holds a row for each candidate.
  std::vector<Found> search(RowsId initial) {
    std::vector<Prefix> roots;
    for (std::size_t c = 0; c < utility_.places(); ++c)
      if (std::isfinite(best_[c].value))
        roots.push_back({c, Pattern(utility_.steps()), 0, std::vector<double>(pairs_, 0.0), 0});
    grow(0, roots, initial);
    return std::move(best_);
  }

 private:
  // Prefixes of `step` steps, in places 0, 1, ... of their level.
  void grow(std::size_t step, std::span<const Prefix> prefixes, RowsId initial) {
    if (step == utility_.steps()) {
      for (const Prefix& prefix : prefixes) consider(prefix);
      return;
    }
    for (std::size_t next = 0; next < prefixes.size();) {
      std::vector<Prefix> longer;
      for (; next < prefixes.size() && longer.size() + 2 <= places_; ++next)
        for (const bool bought : {false, true}) {
          Prefix prefix = prefixes[next];
          prefix.parent = next;
          prefix.pattern.set(step, bought);
          prefix.cost += bought ? 1 : 0;
          if (can_win(prefix, step)) longer.push_back(std::move(prefix));
        }
      if (longer.empty()) continue;
      advance(step, longer, initial);
      grow(step + 1, longer, initial);
    }
  }

  // False only if no pattern that starts so is as good as the best one known. Only the steps before
  // `step` are measured; later distances are not negative.
  bool can_win(const Prefix& prefix, std::size_t step) const {
    // Sums of the same terms in another order differ by far less than this.
    constexpr double rounding = 1e-9;
    const std::size_t c = prefix.candidate;
    double known = 0.0;
    for (const double reduction : prefix.reductions) known += reduction;
    const double slack = rounding * (std::abs(known) + 2 * rest(c, 0));
    const double most = (known + rest(c, step) + slack) / static_cast<double>(pairs_);
    // A later step must be bought if none is yet.
    return !(utility_.per_step(most, std::max<std::size_t>(1, prefix.cost)) < best_[c].value);
  }

  void advance(std::size_t step, std::span<Prefix> prefixes, RowsId initial) {
    const std::size_t n = prefixes.size() * pairs_;
    std::vector<std::size_t> from(n), to(n), target(n);
    std::vector<int> model(n);
    for (std::size_t k = 0, r = 0; k < prefixes.size(); ++k) {
      const Prefix& prefix = prefixes[k];
      for (std::size_t p = 0; p < pairs_; ++p, ++r) {
        const ModelPair& pair = utility_.pairs()[p];
        from[r] = step == 0 ? prefix.candidate : row(step - 1, prefix.parent, p);
        to[r] = row(step, k, p);
        model[r] = prefix.pattern[step] ? pair.a : pair.b;
        target[r] = utility_.target_row(prefix.candidate, p, step);
      }
    }
    committee_.advance(step == 0 ? initial : RowsId(rows_), from, model, rows_, to);
    std::vector<double> distances(n);
    committee_.distance2(utility_.rows(), target, rows_, to, distances);
    for (std::size_t k = 0, r = 0; k < prefixes.size(); ++k)
      for (std::size_t p = 0; p < pairs_; ++p, ++r)
        prefixes[k].reductions[p] +=
            utility_.pair_distance(prefixes[k].candidate, p, step) - distances[r];
  }

  void consider(const Prefix& whole) {
    if (whole.cost == 0) return;
    double total = 0.0;
    for (const double reduction : whole.reductions) total += reduction;
    const double utility = total / static_cast<double>(pairs_);
    Found found{whole.pattern, utility_.per_step(utility, whole.cost)};
    Found& best = best_[whole.candidate];
    if (!std::isnan(found.value) && better(found, best)) best = std::move(found);
  }

  std::size_t row(std::size_t level, std::size_t place, std::size_t pair) const {
    return (level * places_ + place) * pairs_ + pair;
  }
  // Of |u_a - u_b|^2 over pairs and the steps from `step` on.
  double rest(std::size_t candidate, std::size_t step) const {
    return rest_[candidate * (utility_.steps() + 1) + step];
  }

  Committee& committee_;
  const Utility& utility_;
  std::size_t pairs_, places_;
  ResidentRows rows_;
  std::vector<double> rest_;
  std::vector<Found> best_;
};

}  // namespace

std::vector<Found> best_of_all(Committee& committee, const Candidates& candidates,
                               std::span<const std::size_t> ids, const Utility& utility,
                               std::vector<Found> start, std::size_t rows_at_once) {
  const ResidentRows initial(committee, ids.size());
  put_candidates(committee, initial, candidates, ids);
  return Tree(committee, utility, std::move(start), rows_at_once).search(initial);
}

}  // namespace stap
