#include "run/stages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "run/phases.h"
#include "stap/core/error.h"

namespace stap {
namespace {

// Whether the error fell by at least a share of it. What is not finite has an infinite error.
bool fell(double before, double after, double share) {
  return after < before && after <= (1.0 - share) * before;
}

// Whose units count is as in the loss.
double stage_error(const Run& run, const Metrics& metrics) {
  if (run.study.train.loss == FitOptions::Loss::physical) return metrics.rmse;
  const std::vector<double>& errors = metrics.rmse_by_channel;
  double sum = 0;
  for (std::size_t c = 0; c < errors.size(); ++c) {
    const double counted = errors[c] * static_cast<double>(run.loss_factors[c]);
    sum += counted * counted;
  }
  return std::sqrt(sum / static_cast<double>(errors.size()));
}

// In the place of a stage that was no better, those that it went on from.
void take_back(Run& run) {
  std::optional<Model> before = run.folder.read_stage(run.round);
  if (!before)
    throw Error(ErrorKind::data,
                fmt::format("{} is gone, from which the last stage was trained: give the same "
                            "command again, which trains the round anew",
                            run.folder.stage_file(run.round).string()));
  --run.stage;
  run.members = std::move(before->members);
}

}  // namespace

FitOptions stage_options(FitOptions first, std::size_t stage) {
  (first.steps > 0 ? first.steps : first.epochs) <<= stage;
  return first;
}

int epochs_of_stages(const FitOptions& first, std::size_t rows, std::size_t stages) {
  int epochs = 0;
  for (std::size_t s = 0; s < stages; ++s)
    epochs += fit_length(stage_options(first, s), rows).epochs;
  return epochs;
}

std::size_t most_stages(const Run& run) {
  const bool held_back = training_rows(run).size() < run.transitions.count();
  return held_back ? run.study.options.stages : 1;
}

std::size_t stages_begun(const Run& run) {
  return std::max(run.stage + 1, run.stage_errors.size());
}

std::size_t epochs_trained(const Run& run) {
  return static_cast<std::size_t>(run.epochs_before + run.epochs_done) *
         static_cast<std::size_t>(run.study.options.members);
}

std::size_t epochs_left(const Run& run) {
  const int all = epochs_of_stages(run.study.train, training_rows(run).size(), most_stages(run));
  return static_cast<std::size_t>(all) * static_cast<std::size_t>(run.study.options.members) -
         epochs_trained(run);
}

void set_stage(Run& run, std::size_t stage) {
  const FitOptions& first = run.study.train;
  const std::size_t rows = training_rows(run).size();
  run.stage = stage;
  run.epochs_before = epochs_of_stages(first, rows, stage);
  run.epochs_done = 0;
  run.epochs = fit_length(stage_options(first, stage), rows).epochs;
}

void measure_stage(Run& run, Committee& committee) {
  run.stage_errors.push_back(
      timed(run, "train", [&] { return stage_error(run, *on_held_back(run, committee)); }));
}

void end_stage(Run& run) {
  const std::vector<double>& errors = run.stage_errors;
  const std::size_t s = run.stage;
  const bool first = s == 0;
  // Nothing comes of networks that are not finite.
  const bool pays = first ? !errors.empty() && std::isfinite(errors[0])
                          : fell(errors[s - 1], errors[s], kLeastGain);
  if (!first && !fell(errors[s - 1], errors[s], 0.0)) {
    take_back(run);
  } else if (s + 1 < most_stages(run) && pays) {
    run.folder.write_stage(run.round, trained_model(run));
    set_stage(run, s + 1);
    for (MemberState& member : run.members) member = warm_member(std::move(member));
    return;
  }
  save_training(run);
}

}  // namespace stap
