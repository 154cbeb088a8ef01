#include "run/news.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "run/stages.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

}  // namespace

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TrainingNews::TrainingNews(const Group& group,
                           std::span<const std::pair<std::size_t, std::size_t>> followers,
                           Account& account)
    : group_(group),
      account_(account),
      leaders_(group.runs.size(), nullptr),
      since_(seconds_since_1970()) {
  for (const auto& [run, leader] : followers) leaders_[run] = group.runs[leader];
  for (const Run* run : group.runs) {
    before_.push_back(epochs_trained(*run));
    here_.push_back(run->phase == Run::Phase::train);
  }
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
    if (!here_[r]) continue;
    if (run.phase != Run::Phase::train) {
      run.folder.write_status({.phase = "beside",
                               .round = run.round,
                               .rounds = run.study.options.rounds,
                               .since = since_});
      continue;
    }
    if (leaders_[r] != nullptr) {
      run.folder.write_status({.phase = "train",
                               .round = run.round,
                               .rounds = run.study.options.rounds,
                               .since = since_,
                               .shares = leaders_[r]->folder.path().filename().string()});
      continue;
    }
    run.folder.write_status(
        {.phase = "train",
         .round = run.round,
         .rounds = run.study.options.rounds,
         .since = since_,
         .since_done = before_[r],
         // Up to the end of the stage: whether there is another is not known.
         .epochs = static_cast<std::size_t>((run.epochs_before + run.epochs) * group_.members),
         .epochs_done = done_[r],
         .stage = run.stage,
         .stages = most_stages(run)});
  }
}

void DataNews::progress(const Progress& event) {
  listener_.progress(event);
  const auto now = std::chrono::steady_clock::now();
  std::error_code error;
  if (now < next_ || fs::exists(folder_.config_file(), error)) return;
  next_ = now + std::chrono::seconds(1);
  fs::create_directories(folder_.path(), error);
  const bool steps = event.unit == "solver steps";  // and not draws
  folder_.write_status({.phase = "data",
                        .rounds = rounds_,
                        .budget = steps ? event.total : 0,
                        .spent = steps ? event.done : 0});
  told_ = true;
}

void DataNews::withdraw() const {
  std::error_code error;
  if (told_) fs::remove(folder_.status_file(), error);
}

}  // namespace stap
