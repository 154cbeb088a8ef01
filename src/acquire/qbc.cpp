#include "acquire/ranking.h"
#include "stap/acquire/methods.h"

namespace stap {
namespace {

class QueryByCommittee final : public Selector {
 public:
  std::string_view name() const override { return "qbc"; }
  int members_needed() const override { return 2; }

  Order order(Committee& committee, const Candidates& candidates, std::size_t at_most,
              const Rng&) const override {
    Scored scored = score_open(committee, candidates);
    return {best_first(std::move(scored.ranked), at_most), scored.not_finite};
  }
};

}  // namespace

std::unique_ptr<Selector> make_qbc() {
  return std::make_unique<QueryByCommittee>();
}

}  // namespace stap
