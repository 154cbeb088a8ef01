#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "run/phases.h"
#include "run/stages.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// Networks and where they were read from, for messages.
struct ReadModel {
  fs::path file;
  Model model;
};

void check_shape(const Run& run, const ReadModel& read) {
  const StudyOptions& o = run.study.options;
  const auto& [file, model] = read;
  NetworkSpec spec = model.spec;
  if (spec.horizon == 0) spec.horizon = run.network.horizon;  // older files do not say
  if (spec != run.network || model.cluster != o.cluster ||
      model.members.size() != static_cast<std::size_t>(o.members))
    throw Error(
        ErrorKind::data,
        fmt::format("{} holds networks of another shape{}", file.string(),
                    spec.family.row == run.network.family.row
                        ? ""
                        : fmt::format(": of the family {}, but network.name is {}",
                                      spec.family.row->name, run.network.family.row->name)));
}

// Throws unless they are of this run's shape and data and of a stage that it can have.
void check_origin(const Run& run, const ReadModel& read) {
  check_shape(run, read);
  const auto& [file, model] = read;
  if (model.origin.data != run.data)
    throw Error(ErrorKind::data, fmt::format("{} holds networks that were trained on another "
                                             "training set than transitions.h5",
                                             file.string()));
  const std::size_t stages = run.study.options.stages;
  if (model.origin.stage >= stages || model.origin.held_back.size() > stages)
    throw Error(
        ErrorKind::data,
        fmt::format("{} holds networks of stage {} of training and {} errors of stages, "
                    "but study.stages is {}",
                    file.string(), model.origin.stage + 1, model.origin.held_back.size(), stages));
}

// Epochs of a stage that networks have behind them.
int epochs_behind(const Run& run, const ReadModel& read, bool finished) {
  const auto& [file, model] = read;
  const FitLength length =
      fit_length(stage_options(run.study.train, model.origin.stage), training_rows(run).size());
  const std::int64_t steps = model.members[0].steps;
  const int epochs = length.epochs_after(steps);
  if (length.steps_after(epochs) != steps ||
      std::ranges::any_of(model.members, [&](const auto& m) { return m.steps != steps; }))
    throw Error(ErrorKind::data,
                fmt::format("{} holds networks of {} steps, or of different numbers of steps, "
                            "expected whole epochs of {} up to {}",
                            file.string(), steps, length.steps_per_epoch, length.steps));
  if (finished != (epochs == length.epochs))
    throw Error(
        ErrorKind::data,
        fmt::format("{} holds networks of {} of {} epochs under the name of {} ones", file.string(),
                    epochs, length.epochs, finished ? "finished" : "half-trained"));
  return epochs;
}

// The round's committee, if there is one.
bool load_finished(Run& run) {
  const fs::path file = run.folder.committee_file(run.round);
  if (std::error_code none; !fs::exists(file, none)) return false;
  ReadModel read{file, *run.folder.read_networks(run.round)};
  Model& model = read.model;
  check_origin(run, read);
  set_stage(run, model.origin.stage);
  run.epochs_done = epochs_behind(run, read, true);
  run.stage_errors = std::move(model.origin.held_back);
  run.members = std::move(model.members);
  return true;
}

// The networks of the stage before, if one is over, and what it has said.
std::optional<Model> stage_before(const Run& run) {
  const fs::path file = run.folder.stage_file(run.round);
  std::optional<Model> model;
  try {
    model = run.folder.read_stage(run.round);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    throw Error(
        ErrorKind::data,
        fmt::format("{}; without this file ('stap fsck --repair' removes a damaged one) the "
                    "round is trained again",
                    error.what()));
  }
  if (!model) return std::nullopt;
  ReadModel read{file, std::move(*model)};
  check_origin(run, read);
  epochs_behind(run, read, true);
  const ModelOrigin& origin = read.model.origin;
  if (origin.stage + 1 >= run.study.options.stages || origin.held_back.size() != origin.stage + 1)
    throw Error(
        ErrorKind::data,
        fmt::format("{} is of stage {} and has {} errors, but study.stages is {}", file.string(),
                    origin.stage + 1, origin.held_back.size(), run.study.options.stages));
  return std::move(read.model);
}

// What the training of a round begins with.
std::vector<MemberState> members_to_begin(const Run& run) {
  const StudyOptions& o = run.study.options;
  std::vector<MemberState> members;
  if (o.warm_start && run.round > 0) {
    const fs::path file = run.folder.committee_file(run.round - 1);
    if (std::error_code none; !fs::exists(file, none))
      throw Error(ErrorKind::data,
                  fmt::format("{} is missing, but with study.warm_start round {} starts from it: "
                              "put it there again, or begin in another folder",
                              file.string(), run.round));
    ReadModel before{file, *run.folder.read_networks(run.round - 1)};
    check_shape(run, before);
    for (MemberState& member : before.model.members)
      members.push_back(warm_member(std::move(member)));
    return members;
  }
  for (int m = 0; m < o.members; ++m)
    members.push_back(
        fresh_member(run.network, run.scaling,
                     run.stream("weights").split("member", static_cast<std::uint64_t>(m))));
  return members;
}

}  // namespace

void load_training(Run& run) {
  run.members.clear();
  run.stage_errors.clear();
  if (load_finished(run)) return;
  std::optional<Model> before = stage_before(run);
  set_stage(run, before ? before->origin.stage + 1 : 0);
  if (before) run.stage_errors = std::move(before->origin.held_back);
  std::optional<ReadModel> half;
  if (std::optional<Model> model = run.folder.read_networks(run.round)) {
    half = ReadModel{run.folder.training_file(run.round), std::move(*model)};
    check_origin(run, *half);
  }
  // Of another stage: left by a kill between two files, or what it went on from is gone. The one
  // under way, or the round, is then trained from its beginning.
  if (half && half->model.origin.stage == run.stage) {
    run.epochs_done = epochs_behind(run, *half, false);
    run.members = std::move(half->model.members);
  } else if (before) {
    for (MemberState& member : before->members)
      run.members.push_back(warm_member(std::move(member)));
  } else {
    run.members = members_to_begin(run);
  }
}

}  // namespace stap
