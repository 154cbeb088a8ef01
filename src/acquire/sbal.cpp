#include <cmath>
#include <limits>

#include "acquire/ranking.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class Sbal final : public Selector {
 public:
  explicit Sbal(const SbalOptions& options) : exponent_(options.exponent) {}

  std::string_view name() const override { return "sbal"; }
  int members_needed() const override { return 2; }

  // The largest of log weight + Gumbel noise falls on a candidate with probability proportional to
  // its weight; the order by falling values is a draw without replacement.
  Order order(Committee& committee, const Candidates& candidates, std::size_t at_most,
              const Rng& rng) const override {
    const Rng noise = selection_noise(rng);
    Scored scored = score_open(committee, candidates);
    for (Ranked& r : scored.ranked)
      r.key = r.key > 0.0 ? exponent_ * std::log(r.key) + noise.gumbel(r.id)
                          : -std::numeric_limits<double>::infinity();
    return {best_first(std::move(scored.ranked), at_most), scored.not_finite};
  }

 private:
  double exponent_;
};

}  // namespace

const config::Fields<SbalOptions>& sbal_fields() {
  static const config::Fields<SbalOptions> fields{
      {"exponent", &SbalOptions::exponent,
       "m: a candidate of score q is drawn with probability proportional to q^m",
       config::at_least(0)},
  };
  return fields;
}

std::unique_ptr<Selector> make_sbal(const SbalOptions& options) {
  // The field table is the one place that states ranges.
  config::read(sbal_fields(), config::to_value(sbal_fields(), options), "sbal");
  return std::make_unique<Sbal>(options);
}

}  // namespace stap
