#include <algorithm>

#include "acquire/single_steps.h"
#include "acquire/until_spent.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class StapOne final : public StepChooser {
 public:
  explicit StapOne(const StapOneOptions& options) : options_(options) {}

  std::string_view name() const override { return "stap-one"; }
  int members_needed() const override { return 2; }

  // Every pattern is of one step, so it is known how many candidates the budget needs.
  std::vector<Pattern> choose(Committee& committee, const Candidates& candidates,
                              std::span<const std::size_t> ids, std::size_t budget,
                              const Rng&) const override {
    ids = ids.first(std::min(candidates.payable(budget), ids.size()));
    std::vector<Pattern> patterns;
    for (const BestStep& best : best_single_steps(committee, candidates, ids, options_.search))
      patterns.push_back(single_step(candidates.steps, best.step));
    return patterns;
  }

 private:
  StapOneOptions options_;
};

}  // namespace

const config::Fields<StapOneOptions>& stap_one_fields() {
  using Search = StapOneOptions::Search;
  static const config::Fields<StapOneOptions> fields{
      {"search", &StapOneOptions::search,
       "until no other step can be better (exact), or until no other is likely to be (quick: a "
       "third of the cost or less, and not always the best one)",
       config::choices<Search>({{"exact", Search::exact}, {"quick", Search::quick}})}};
  return fields;
}

std::unique_ptr<StepChooser> make_stap_one(const StapOneOptions& options) {
  return std::make_unique<StapOne>(options);
}

}  // namespace stap
