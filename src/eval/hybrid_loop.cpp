#include "stap/eval/hybrid_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/resident_rows.h"

namespace stap {
namespace {

constexpr std::size_t kDraftsAtOnce = 64;

// The averaged model and the members of some drafts, row by row.
class DraftBlock {
 public:
  DraftBlock(Committee& committee, std::span<const Draft> drafts, std::span<const double> floor)
      : committee_(committee),
        drafts_(drafts),
        floor_(floor),
        models_(static_cast<std::size_t>(committee.members()) + 1),
        rows_(committee, drafts.size() * models_),
        states_(committee.grid(), models_) {
    for (std::size_t d = 0; d < drafts.size(); ++d) {
      const Draft& draft = drafts[d];
      if (draft.turns->step() != draft.turns->base())
        throw Error(ErrorKind::internal, "a draft must begin at the last state of the solver");
      Conditions conditions;
      conditions.add(draft.turns->base(), draft.parameters);
      for (std::size_t m = 0; m < models_; ++m)
        committee.put(rows_, d * models_ + m, {draft.from.data(), 1, draft.from.size()},
                      conditions.view());
    }
  }

  // One step of all whose turn it is; false: of none.
  bool step(std::size_t first, const DraftVisitor& visit) {
    std::vector<std::size_t> at, index;
    std::vector<int> model;
    for (std::size_t d = 0; d < drafts_.size(); ++d) {
      if (drafts_[d].turns->next() != Turn::surrogate || ended(d)) continue;
      at.push_back(d);
      for (std::size_t m = 0; m < models_; ++m) {
        index.push_back(d * models_ + m);
        model.push_back(m == 0 ? kMean : static_cast<int>(m) - 1);
      }
    }
    if (at.empty()) return false;
    committee_.advance(rows_, index, model, rows_, index);
    for (const std::size_t d : at) {
      committee_.get(rows_, d * models_, states_.view());
      std::vector<std::span<const float>> members;
      for (std::size_t m = 1; m < models_; ++m) members.push_back(states_.row(m));
      HybridTurns& turns = *drafts_[d].turns;
      const std::size_t step = turns.step();
      const auto finite = [](float value) { return std::isfinite(value); };
      const double scale = std::ranges::all_of(states_.row(0), finite)
                               ? bar_scales(members, floor_).scales[0]
                               : std::numeric_limits<double>::infinity();
      const double bar = turns.drafted(scale);
      if (turns.next() == Turn::solver)
        ended_.push_back(d);
      else
        visit(first + d, step, std::as_const(states_).row(0), bar);
    }
    return true;
  }

 private:
  bool ended(std::size_t d) const { return std::ranges::find(ended_, d) != ended_.end(); }

  Committee& committee_;
  std::span<const Draft> drafts_;
  std::span<const double> floor_;
  std::size_t models_;
  ResidentRows rows_;
  States<float> states_;  // of one draft
  std::vector<std::size_t> ended_;
};

}  // namespace

void make_drafts(Committee& committee, std::span<const Draft> drafts, std::span<const double> floor,
                 const DraftVisitor& visit) {
  for (std::size_t first = 0; first < drafts.size(); first += kDraftsAtOnce) {
    DraftBlock block(committee,
                     drafts.subspan(first, std::min(kDraftsAtOnce, drafts.size() - first)), floor);
    while (block.step(first, visit)) {
    }
  }
}

HybridLoop::HybridLoop(Committee& committee, const ErrorBars& bars, const HybridRules& rules,
                       std::span<const double> initial, std::span<const double> parameters)
    : committee_(committee),
      turns_(bars, rules),
      floor_(bars.floor),
      parameters_(parameters.begin(), parameters.end()) {
  if (bars.cluster != 1 || bars.channels != committee.grid().channels ||
      initial.size() != committee.grid().values())
    throw Error(ErrorKind::data,
                fmt::format("a state of {} values, with error bars of {} channels and {} steps at "
                            "once, for networks of {} ({} values), one step at a time",
                            initial.size(), bars.channels, bars.cluster,
                            committee.grid().shape_text(), committee.grid().values()));
  keep(0, initial, 0.0);
}

Turn HybridLoop::next() {
  if (turns_.next() != Turn::surrogate) return turns_.next();
  std::vector<float> from(states_.front().size());
  convert(std::span<const double>(states_[turns_.base()]), std::span(from));
  const Draft draft{&turns_, from, parameters_};
  std::vector<double> made(from.size());
  make_drafts(committee_, {&draft, 1}, floor_,
              [&](std::size_t, std::size_t step, std::span<const float> state, double bar) {
                convert(state, std::span(made));
                keep(step + 1, made, bar);
              });
  return turns_.next();
}

void HybridLoop::solved(std::span<const double> state) {
  if (state.size() != states_.front().size())
    throw Error(ErrorKind::data, fmt::format("a state of {} values, expected {}", state.size(),
                                             states_.front().size()));
  turns_.solved();
  keep(turns_.base(), state, 0.0);
}

void HybridLoop::keep(std::size_t time, std::span<const double> state, double bar) {
  states_.resize(std::max(states_.size(), time + 1));
  bars_.resize(states_.size());
  states_[time].assign(state.begin(), state.end());
  bars_[time] = bar;
}

}  // namespace stap
