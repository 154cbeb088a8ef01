#include "stap/results/export.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/data/well_file.h"
#include "stap/folder/run_folder.h"
#include "stap/study/identity.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSizes[] = {"points", "dt", "length", "lengths"};

// The numbers of an equation that are not its grid, and do not vary.
std::vector<Parameter> parameters_of(const Study& study) {
  std::vector<Parameter> parameters;
  if (study.pde && study.pde.row->outline) {
    parameters = study.pde.row->outline(study.pde.options).parameters;
    std::erase_if(parameters, [](const Parameter& one) { return one.varies; });
    return parameters;
  }
  if (const config::Value* pde = study.effective.find("pde"); pde != nullptr && pde->is_map())
    for (const auto& member : *pde->map())
      if (const auto number = member.value.real();
          number && std::ranges::find(kSizes, member.key) == std::end(kSizes))
        parameters.push_back({member.key, *number});
  return parameters;
}

}  // namespace

double TrainingData::time(std::size_t t) const {
  return (static_cast<double>(t) - static_cast<double>(set.cluster - 1)) * set.dt;
}

std::span<const double> TrainingData::state_of(const WalkedTrajectory& trajectory,
                                               std::size_t t) const {
  const std::size_t cluster = t / set.cluster, frame = t % set.cluster;
  const auto at = [&](const std::vector<double>& states, std::size_t row) {
    return std::span(states).subspan(row * set.grid.values() + frame * grid.values(),
                                     grid.values());
  };
  for (std::size_t row : trajectory.rows) {
    if (set.origins[row].step == cluster) return at(set.inputs, row);
    if (set.origins[row].step + 1 == cluster) return at(set.outputs, row);
  }
  return {};
}

std::vector<double> TrainingData::states_of(const WalkedTrajectory& trajectory) const {
  std::vector<double> states(times() * grid.values(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t t = 0; t < times(); ++t)
    std::ranges::copy(state_of(trajectory, t),
                      states.begin() + static_cast<std::ptrdiff_t>(t * grid.values()));
  return states;
}

void put_together(TrainingData& data) {
  const TransitionSet& set = data.set;
  const std::size_t k = set.cluster, steps = data.steps / k;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
  data.trajectories.clear();
  for (std::size_t row = 0; row < set.count(); ++row) {
    const Provenance& origin = set.origins[row];
    if (origin.step >= steps)
      throw Error(ErrorKind::data,
                  fmt::format("the training set has step {} of candidate {}, but trajectories of "
                              "{} steps",
                              origin.step, origin.candidate, steps));
    const auto [at, fresh] =
        known.emplace(std::pair(origin.acquisition, origin.candidate), data.trajectories.size());
    if (fresh) data.trajectories.push_back({origin.acquisition, origin.candidate, {}, {}});
    data.trajectories[at->second].rows.push_back(row);
  }
  data.synthetic.assign(set.count(), 0);
  for (WalkedTrajectory& trajectory : data.trajectories) {
    const auto step_of = [&](std::size_t row) { return set.origins[row].step; };
    std::ranges::sort(trajectory.rows, {}, step_of);
    std::vector<StateSource> clusters(steps + 1, StateSource::unknown);
    for (std::size_t row : trajectory.rows) {
      const std::size_t step = step_of(row);
      // An input that the step before did not make is the mean model's, except for the first.
      if (step == 0)
        clusters[0] = StateSource::initial;
      else if (clusters[step] == StateSource::unknown)
        clusters[step] = StateSource::mean_model;
      data.synthetic[row] = clusters[step] == StateSource::mean_model ? 1 : 0;
      clusters[step + 1] = StateSource::solver;
    }
    for (StateSource source : clusters)
      trajectory.sources.insert(trajectory.sources.end(), k, source);
  }
}

TrainingData read_training_data(const fs::path& run) {
  const RunFolder folder(run);
  const config::Value document = folder.read_config();
  std::error_code missing;
  if (!fs::exists(folder.transitions_file(), missing))
    throw Error(
        ErrorKind::data,
        fmt::format("{} has bought nothing yet: there is no training set to export", run.string()));
  const Study study = make_study(document, Purpose::look);
  TrainingData data;
  data.set = folder.read_transitions();
  const Manifest manifest = folder.read_manifest();
  data.problem = data.set.equation.empty() ? identity_text(manifest, "name") : data.set.equation;
  data.grid = frame_grid(data.set.grid, data.set.cluster);
  data.channels = channel_names(manifest, data.grid.channels);
  data.parameters = parameters_of(study);
  data.steps = study.options.steps;
  if (data.set.count() == 0)
    throw Error(ErrorKind::data, fmt::format("{} holds no transition: there is nothing to export",
                                             folder.transitions_file().string()));
  put_together(data);
  return data;
}

void export_well(const TrainingData& data, const fs::path& file) {
  WellInfo info{.name = data.problem,
                .grid = data.grid,
                .channels = data.channels,
                .times = {},
                .trajectories = data.trajectories.size(),
                .parameters = data.parameters,
                .varied = data.set.parameters.names};
  for (std::size_t t = 0; t < data.times(); ++t) info.times.push_back(data.time(t));
  WellWriter writer(file, info);
  std::vector<double> source, candidate, round;
  for (std::size_t b = 0; b < data.trajectories.size(); ++b) {
    const WalkedTrajectory& trajectory = data.trajectories[b];
    writer.put(b, data.states_of(trajectory));
    for (StateSource one : trajectory.sources) source.push_back(static_cast<double>(one));
    candidate.push_back(static_cast<double>(trajectory.candidate));
    round.push_back(static_cast<double>(trajectory.acquisition));
  }
  writer.add_scalar("state_source", true, source);
  writer.add_scalar("candidate", false, candidate);
  writer.add_scalar("round", false, round);
  for (std::size_t p = 0; p < info.varied.size(); ++p) {
    std::vector<double> values;
    for (const WalkedTrajectory& one : data.trajectories)
      values.push_back(data.parameters_of(one)[p]);
    writer.add_scalar(info.varied[p], false, values);
  }
  writer.commit();
}

}  // namespace stap
