#include "run/account.h"

#include <algorithm>
#include <utility>

#include "run/stages.h"

namespace stap {
namespace {

// Epochs of all members in a round, if all that may be bought until then is bought, the share that
// is meant to be is held back, and all stages are trained.
std::size_t epochs_of(const Run& run, std::size_t round) {
  const StudyOptions& o = run.study.options;
  const std::size_t rows =
      run.problem->first.count() + o.initial * o.pattern_steps() + round * o.pattern_budget();
  const auto trained = static_cast<std::size_t>(static_cast<double>(rows) * (1.0 - o.validation));
  const int epochs = epochs_of_stages(run.study.train, std::max<std::size_t>(trained, 1), o.stages);
  return static_cast<std::size_t>(epochs) * static_cast<std::size_t>(o.members);
}

}  // namespace

Account::Account(std::span<const Run> runs, Observer& listener) : listener_(listener) {
  for (const Run& run : runs) {
    for (std::size_t round = 0; round <= run.study.options.rounds; ++round) {
      const std::size_t epochs = epochs_of(run, round);
      total_ += epochs;
      if (round < run.round) done_ += epochs;
    }
    if (run.phase == Run::Phase::train)
      done_ += epochs_trained(run);
    else if (run.phase != Run::Phase::initial)
      done_ += epochs_of(run, run.round);
  }
}

void Account::begin(const Run& run) {
  total_ += epochs_trained(run) + epochs_left(run);
  total_ -= epochs_of(run, run.round);
}

void Account::say(std::string phase) {
  phase_ = std::move(phase);
  listener_.progress({phase_, done_, total_, "epochs"});
}

void Account::epoch_done(const EpochDone& event) {
  ++done_;
  losses_.push_back(event);
  listener_.epoch_done(event);
  listener_.progress({phase_, done_, total_, "epochs"});
}

}  // namespace stap
