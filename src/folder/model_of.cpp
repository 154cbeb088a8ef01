#include "stap/folder/model_of.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/eval/error_bars.h"
#include "stap/folder/run_folder.h"
#include "stap/nn/model_file.h"

namespace stap {
namespace fs = std::filesystem;

fs::path model_of(const fs::path& given) {
  std::error_code error;
  const fs::file_status status = fs::status(given, error);
  if (!fs::exists(status))
    throw Error(ErrorKind::data,
                fmt::format("{}: there is no such model file or run folder", given.string()));
  if (!fs::is_directory(status)) return given;
  return RunFolder(given).newest_committee().path;
}

std::string about_older_networks(const fs::path& given) {
  std::error_code error;
  if (!fs::is_directory(given, error)) return {};
  const RunFolder folder(given);
  const std::size_t round = folder.newest_committee().round,
                    measured = folder.read_metrics().size();
  if (round + 1 >= measured) return {};
  return fmt::format(
      "{}: the networks of round {}, the last one that was measured, are missing; "
      "those of round {} are taken",
      given.string(), measured - 1, round);
}

namespace {

// Steps of a trajectory in the run whose rounds/NN/ the file lies in; 0: it lies elsewhere.
std::size_t horizon_of_run(const fs::path& model_file) {
  const RunFolder folder(fs::absolute(model_file).parent_path().parent_path().parent_path());
  std::error_code missing;
  if (!fs::exists(folder.config_file(), missing)) return 0;
  const config::Value document = folder.read_config();
  const auto number = [&](const char* key, double otherwise) {
    const config::Value* value = config::find_path(document, key);
    return static_cast<std::size_t>(value ? value->real().value_or(otherwise) : otherwise);
  };
  return number("study.steps", 0) / std::max<std::size_t>(1, number("study.cluster", 1));
}

}  // namespace

Model standalone_model(const fs::path& run, std::optional<std::size_t> round) {
  const RunFolder folder(run);
  const fs::path file = round ? folder.committee_file(*round) : folder.newest_committee().path;
  std::error_code error;
  if (!fs::exists(file, error))
    throw Error(ErrorKind::data,
                fmt::format("{}: there is no {}; runs with study.keep_committees=all keep the "
                            "networks of every round, others those of the last",
                            run.string(), file.lexically_relative(run).string()));
  const Manifest manifest = folder.read_manifest();
  Model model = read_model(file);
  if (model.origin.run != folder.run())
    throw Error(ErrorKind::data,
                fmt::format("{} is of the run {}, not of {}, which is that of this folder",
                            file.string(), model.origin.run, folder.run()));
  if (model.spec.inputs.time && model.spec.horizon == 0) model.spec.horizon = horizon_of_run(file);
  for (MemberState& member : model.members) {
    member.moment1.clear();
    member.moment2.clear();
    member.average.clear();
  }
  const config::Value* dt = manifest.identity.find("dt");
  model.problem = {identity_text(manifest, "name"),
                   channel_names(manifest, model.spec.grid.channels / model.cluster),
                   dt ? dt->real().value_or(0.0) : 0.0};
  if (const std::optional<ErrorBars> bars = folder.read_bars();
      bars && bars->weights == digest(model))
    model.bars = config::json_text(to_value(*bars), 0);
  return model;
}

Surrogate load_surrogate(const fs::path& model_file, const ComputeOptions& compute, int threads) {
  Model model = read_model(model_file);
  if (model.spec.inputs.time && model.spec.horizon == 0)
    model.spec.horizon = horizon_of_run(model_file);
  if (model.members.empty())
    throw Error(ErrorKind::data, fmt::format("{}: the model has no members", model_file.string()));
  std::vector<int> members(model.members.size());
  std::iota(members.begin(), members.end(), 0);
  Surrogate surrogate;
  surrogate.engine = make_engine(compute, model.spec, static_cast<int>(members.size()), threads);
  for (int m : members) surrogate.engine->load(m, model.members[static_cast<std::size_t>(m)]);
  surrogate.cluster = model.cluster;
  surrogate.problem = model.problem;
  surrogate.committee = surrogate.engine->committee(std::move(members));
  return surrogate;
}

}  // namespace stap
