// A method of one's own that chooses initial conditions and time steps together, against two that
// are built in.
//
//   own_planner FOLDER
//
// Killed or stopped, the same command goes on.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include <stap/acquire/planner.h>
#include <stap/core/error.h>
#include <stap/core/resident_rows.h>
#include <stap/results/table.h>
#include <stap/results/table_format.h>
#include <stap/run/sweep.h>

struct Options {
  double exponent = 1.0;
};

// Buys single transitions. The mean model makes the steps before; a transition is drawn with
// probability proportional to a power of the members' spread after one step from there, and a
// candidate leaves the pool with the first of its transitions that is drawn.
class Joint final : public stap::Planner {
 public:
  explicit Joint(const Options& options) : options_(options) {}

  std::string name() const override { return "joint"; }
  int members_needed() const override { return 2; }

 private:
  struct Drawn {
    std::size_t id = 0, step = 0;
    double key = -std::numeric_limits<double>::infinity();
  };

  // A round: plans go on behind each other, so the draw is made once.
  class Round final : public stap::RoundPlans {
   public:
    Round(const Options& options, stap::Committee& committee, const stap::Candidates& candidates,
          const stap::Rng& rng)
        : RoundPlans("joint", candidates), options_(options), committee_(committee), rng_(rng) {}

   private:
    stap::Plan make_plan(std::size_t budget, stap::SelectionSeconds&) override {
      if (drawn_.empty()) draw();
      stap::Plan plan;
      plan.unspent = budget;
      plan.not_finite = candidates().open.size() - drawn_.size();
      for (const Drawn& drawn : drawn_) {
        if (plan.unspent <= candidates().warm_up) break;
        if (taken(drawn.id)) continue;
        stap::Pattern pattern(candidates().steps);
        pattern.set(drawn.step, true);
        plan.purchases.push_back({drawn.id, pattern});
        plan.unspent -= candidates().cost(pattern);
      }
      return plan;
    }

    // The largest of log(weight) + Gumbel noise falls on a transition with probability proportional
    // to its weight. Noise is keyed by candidate and step, never by a place in a list: so a run
    // that was killed draws the same again.
    void draw() {
      const std::span<const std::size_t> open = candidates().open;
      const auto members = static_cast<std::size_t>(committee_.members());
      std::vector<std::size_t> own(open.size() * members), from(own.size());
      std::vector<int> member(own.size());
      std::iota(own.begin(), own.end(), std::size_t{0});
      for (std::size_t r = 0; r < own.size(); ++r) {
        from[r] = r / members;
        member[r] = static_cast<int>(r % members);
      }
      const auto first = std::span(own).first(open.size());
      const std::vector<int> mean_model(open.size(), stap::kMean);
      const stap::ResidentRows mean(committee_, open.size()), after(committee_, own.size());
      for (std::size_t c = 0; c < open.size(); ++c)
        committee_.put(mean, c, candidates().states.rows(open[c], 1),
                       candidates().conditions.part(open[c], 1));
      std::vector<Drawn> best(open.size());
      std::vector<double> spread(open.size());
      for (std::size_t step = 0; step < candidates().steps; ++step) {
        committee_.advance(mean, from, member, after, own);
        committee_.spread(after, own, spread);
        for (std::size_t c = 0; c < open.size(); ++c) {
          const double noise = rng_.split("candidate", open[c]).gumbel(step);
          const double key = options_.exponent * std::log(spread[c]) + noise;
          if (std::isfinite(key) && key > best[c].key) best[c] = {open[c], step, key};
        }
        committee_.advance(mean, first, mean_model, mean, first);
      }
      std::erase_if(best, [](const Drawn& d) { return std::isinf(d.key); });
      std::sort(best.begin(), best.end(),
                [](const Drawn& a, const Drawn& b) { return a.key > b.key; });
      drawn_ = std::move(best);
    }

    Options options_;
    stap::Committee& committee_;
    stap::Rng rng_;
    std::vector<Drawn> drawn_;
  };

  std::unique_ptr<stap::RoundPlans> start(stap::Committee& committee,
                                          const stap::Candidates& candidates,
                                          const stap::Rng& rng) const override {
    return std::make_unique<Round>(options_, committee, candidates, rng);
  }

  Options options_;
};

const stap::config::Fields<Options>& fields() {
  static const stap::config::Fields<Options> table{
      {"exponent", &Options::exponent, "of the spread", stap::config::at_least(0)}};
  return table;
}

constexpr const char* kStudy = R"(
pde: {name: burgers, points: 32, dt: 0.1}
initial: {name: sines}
network: {modes: [8], width: 8, lifting: 16, projection: 16, layers: 2}
train: {epochs: 40, batch: 8}
study: {steps: 6, pool: 60, test: 20, initial: 4, rounds: 2, budget: 12}
sweep: {method: [random, sbal+stap, joint(exponent=0.5)], study.seed: [0, 1]}
)";

int main(int argc, char** argv) try {
  if (argc != 2) return std::cerr << "give a folder for the results\n", 2;
  stap::add_planner({{"joint", "single transitions, by the members' spread", &fields()},
                     [](const stap::config::AnyOptions& options, const stap::MakeContext&) {
                       return std::make_unique<Joint>(options.as(fields()));
                     }});
  stap::config::Value study = stap::config::parse_yaml(kStudy, "own_planner");
  const auto axes = stap::take_axes(study, {}, {});
  stap::Observer quiet;
  stap::drive(stap::expand_grid(study, axes), argv[1], 0, quiet, {});
  std::cout << stap::tables_text(stap::make_tables(stap::read_results(argv[1])));
} catch (const stap::Error& error) {
  std::cerr << error.what() << '\n';
  return error.exit_code();
}
