#include "run/news.h"

#include <algorithm>

namespace stap {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TrainingNews::TrainingNews(const Group& group, Account& account)
    : group_(group), account_(account), since_(seconds_since_1970()) {
  for (const Run* run : group.runs)
    before_.push_back(static_cast<std::size_t>(run->epochs_done * group.members));
  done_ = before_;
}

void TrainingNews::epoch_done(const EpochDone& event) {
  account_.epoch_done(event);
  ++done_[static_cast<std::size_t>(event.member / group_.members)];
  const auto now = Clock::now();
  if (now - told_ < std::max<Clock::duration>(std::chrono::seconds(1), 100 * took_)) return;
  tell();
  told_ = Clock::now();
  took_ = told_ - now;
}

void TrainingNews::tell() const {
  for (std::size_t r = 0; r < done_.size(); ++r) {
    const Run& run = *group_.runs[r];
    if (run.phase != Run::Phase::train) continue;
    run.folder.write_status({.phase = "train",
                             .round = run.round,
                             .rounds = run.study.options.rounds,
                             .since = since_,
                             .since_done = before_[r],
                             .epochs = static_cast<std::size_t>(run.epochs * group_.members),
                             .epochs_done = done_[r]});
  }
}

}  // namespace stap
