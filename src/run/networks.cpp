#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "run/phases.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// Networks of a round that are on disk.
std::optional<Model> networks_of(const Run& run, std::size_t round) {
  const StudyOptions& o = run.study.options;
  std::optional<Model> model = run.folder.read_networks(round);
  if (model && (model->shape != run.shape || model->cluster != o.cluster ||
                model->members.size() != static_cast<std::size_t>(o.members)))
    throw Error(ErrorKind::data, fmt::format("{} holds networks of another shape",
                                             run.folder.round_folder(round).string()));
  return model;
}

}  // namespace

void load_training(Run& run) {
  const StudyOptions& o = run.study.options;
  const FitLength length = fit_length(run.study.train, training_rows(run).size());
  run.members.clear();
  run.epochs_done = 0;
  run.epochs = length.epochs;
  if (std::optional<Model> model = networks_of(run, run.round)) {
    const fs::path place = run.folder.round_folder(run.round);
    if (model->origin.data != run.data)
      throw Error(ErrorKind::data, fmt::format("{} holds networks that were trained on another "
                                               "training set than transitions.h5",
                                               place.string()));
    run.members = std::move(model->members);
    const std::int64_t steps = run.members[0].steps;
    run.epochs_done = length.epochs_after(steps);
    if (length.steps_after(run.epochs_done) != steps ||
        std::ranges::any_of(run.members, [&](const auto& m) { return m.steps != steps; }))
      throw Error(ErrorKind::data,
                  fmt::format("{} holds networks of {} steps, or of different numbers of steps, "
                              "expected whole epochs of {} up to {}",
                              place.string(), steps, length.steps_per_epoch, length.steps));
    const bool finished = run.epochs_done == run.epochs;
    if (std::error_code none; finished != fs::exists(run.folder.committee_file(run.round), none))
      throw Error(ErrorKind::data,
                  fmt::format("{} holds networks of {} of {} epochs under the name of {} ones",
                              place.string(), run.epochs_done, run.epochs,
                              finished ? "half-trained" : "finished"));
    return;
  }
  if (o.warm_start && run.round > 0) {
    const fs::path file = run.folder.committee_file(run.round - 1);
    if (std::error_code none; !fs::exists(file, none))
      throw Error(ErrorKind::data,
                  fmt::format("{} is missing, but with study.warm_start round {} starts from it: "
                              "put it there again, or begin in another folder",
                              file.string(), run.round));
    std::optional<Model> before = networks_of(run, run.round - 1);
    for (MemberState& member : before->members)
      run.members.push_back(warm_member(std::move(member)));
    return;
  }
  for (int m = 0; m < o.members; ++m)
    run.members.push_back(
        fresh_member(run.shape, run.scaling,
                     run.stream("weights").split("member", static_cast<std::uint64_t>(m))));
}

}  // namespace stap
