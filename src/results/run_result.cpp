#include "stap/results/run_result.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/sweep_folder.h"
#include "stap/study/method.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

const Value& must_have(const Value& map, std::string_view key, const fs::path& place) {
  const Value* there = map.find(key);
  if (there == nullptr)
    throw Error(ErrorKind::data, fmt::format("{} has no {}", place.string(), key));
  return *there;
}

// An error, which is no number below 0; null stands for what is not finite.
double error_in(const Value& value, const char* key, const fs::path& place) {
  if (value.is_null()) return std::numeric_limits<double>::infinity();
  const std::optional<double> number = value.real();
  if (!number || !(*number >= 0)) throw_bad_field(key, place);
  return *number;
}

// Takes the errors of one evaluation from a map of them. Rollouts of a test set have all of the
// study's steps, what was held back fewer.
void add_errors(const Value& map, const fs::path& place, const RunResult& run, RunErrors& errors) {
  errors.diverged.push_back(field<std::uint64_t>(map, "diverged", place));
  for (const MetricInfo& metric : metric_infos()) {
    double value = error_in(must_have(map, metric.key, place), metric.key.data(), place);
    // Relative to test trajectories that are zero there is none, which is no divergence.
    if (metric.metric == Metric::nrmse && std::isinf(value) && errors.diverged.back() == 0)
      value = std::numeric_limits<double>::quiet_NaN();
    errors.values[static_cast<std::size_t>(metric.metric)].push_back(value);
    errors.logs[static_cast<std::size_t>(metric.metric)].push_back(std::log(value));
  }
  constexpr const char* kBySteps = "rmse_by_step";
  const Value& by_step = must_have(map, kBySteps, place);
  if (!by_step.is_list()) throw_bad_field(kBySteps, place);
  const std::size_t count = by_step.list()->size();
  if (run.validation ? count > run.steps : count != run.steps)
    throw Error(ErrorKind::data, fmt::format("{}: {} has {} errors, expected one for each of {} "
                                             "steps",
                                             place.string(), kBySteps, count, run.steps));
  std::vector<double>& steps = errors.rmse_by_step.emplace_back();
  for (const Value& value : *by_step.list()) steps.push_back(error_in(value, kBySteps, place));
  for (const auto& [key, to] : {std::pair("rmse_by_channel", &RunErrors::rmse_by_channel),
                                {"nrmse_by_channel", &RunErrors::nrmse_by_channel}})
    if (const Value* value = map.find(key)) {
      if (!value->is_list()) throw_bad_field(key, place);
      std::vector<double>& channels = (errors.*to).emplace_back();
      for (const Value& one : *value->list()) channels.push_back(error_in(one, key, place));
    }
  constexpr const char* kStandardError = "rmse_standard_error";
  if (const Value* value = map.find(kStandardError))
    errors.standard_errors.push_back(error_in(*value, kStandardError, place));
}

}  // namespace

std::size_t RunErrors::diverged_total() const {
  std::size_t total = 0;
  for (const std::size_t n : diverged) total += std::min(n, SIZE_MAX - total);
  return total;
}

double RunErrors::headline(Metric metric) const {
  double sum = 0;
  for (double log : logs_of(metric)) sum += log;
  return sum / static_cast<double>(logs_of(metric).size());
}

const RunErrors& RunResult::of(ErrorsOf whose) const {
  constexpr RunErrors RunResult::*kErrors[kErrorsOf] = {&RunResult::members, &RunResult::mean_model,
                                                        &RunResult::images,
                                                        &RunResult::mean_model_images};
  return this->*kErrors[static_cast<std::size_t>(whose)];
}

RunResult read_result(const fs::path& folder) {
  RunResult result;
  result.folder = folder;
  const RunFolder files(folder);
  config::Value document = with_older_meaning(files.read_config());
  result.manifest = files.read_manifest();
  result.study = std::make_shared<const Study>(make_study(std::move(document), Purpose::look));
  const Study& study = *result.study;
  // With the defaults of options that an earlier version did not know: its runs are no other
  // method.
  result.config = study.effective;
  result.method = method_text(study.effective);
  result.seed = study.options.seed;
  result.rounds = study.options.rounds;
  result.steps = study.options.steps;
  result.cluster = study.options.cluster;
  result.charge_warm_up = study.options.charge_warm_up;
  result.test_sha256 = identity_text(result.manifest, "test_sha256");
  for (const JsonLine& one : files.read_metrics()) {
    const auto& [line, place] = std::tie(one.value, one.where);
    // Without a test set a round may have nothing to say but its size.
    const std::size_t round = result.rounds_done++;
    if (std::optional<RoundStages> stages = read_stages(line, round))
      result.stages.push_back(std::move(*stages));
    if (result.test_sha256.empty() && line.find("rmse") == nullptr) continue;
    result.measured.push_back(round);
    result.validation = line.find("measured_on") != nullptr;
    result.points = field<std::uint64_t>(line, "points", place);
    result.trajectories = field<std::uint64_t>(line, "trajectories", place);
    result.transitions.push_back(field<std::uint64_t>(line, "transitions", place));
    if (line.find("candidates") != nullptr)
      result.candidates.push_back(field<std::uint64_t>(line, "candidates", place));
    if (line.find("warm_up_steps") != nullptr) {
      result.warm_up_steps.push_back(field<std::uint64_t>(line, "warm_up_steps", place));
      if (result.warm_up_steps.back() < result.warm_up_steps.front())
        throw Error(ErrorKind::data, fmt::format("{}: warm_up_steps has fallen", place));
    }
    add_errors(line, place, result, result.members);
    if (const Value* mean = line.find("mean_model"))
      add_errors(*mean, place, result, result.mean_model);
    if (const Value* over = line.find("images")) {
      const fs::path inside = place + ", images";
      if (!over->is_map())
        throw Error(ErrorKind::data, fmt::format("{}: expected a map", inside.string()));
      add_errors(*over, inside, result, result.images);
      add_errors(must_have(*over, "mean_model", inside), inside, result, result.mean_model_images);
    }
  }
  // Rounds from before these were counted or measured cannot be told from later ones.
  if (result.candidates.size() != result.evaluated()) result.candidates.clear();
  if (result.warm_up_steps.size() != result.evaluated()) result.warm_up_steps.clear();
  for (RunErrors* errors : {&result.mean_model, &result.images, &result.mean_model_images})
    if (errors->logs[0].size() != result.evaluated()) *errors = {};
  for (RunErrors* errors :
       {&result.members, &result.mean_model, &result.images, &result.mean_model_images})
    if (errors->standard_errors.size() != errors->logs[0].size()) errors->standard_errors.clear();
  return result;
}

std::vector<fs::path> run_folders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  if (fs::exists(folder / "config.yaml", error)) found.push_back(folder);
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / "config.yaml", error)) found.push_back(entry.path());
  if (found.empty() && is_sweep(folder))
    throw Error(ErrorKind::data,
                fmt::format("no run of the sweep in {} has started: runs start when pool and "
                            "test set are made",
                            folder.string()));
  if (found.empty())
    throw Error(ErrorKind::data,
                fmt::format("there is no run in {}: expected a folder made by 'stap run' or 'stap "
                            "sweep'; it has files when pool and test set are made",
                            folder.string()));
  std::sort(found.begin(), found.end());
  // The order of the sweep's grid where it is known; runs it does not name come last.
  const std::vector<std::string> order =
      is_sweep(folder) ? names_in(folder) : std::vector<std::string>();
  auto place = [&](const fs::path& path) {
    return std::find(order.begin(), order.end(), path.filename().string()) - order.begin();
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const fs::path& a, const fs::path& b) { return place(a) < place(b); });
  return found;
}

std::vector<RunResult> read_results(const fs::path& folder) {
  std::vector<RunResult> results;
  for (const fs::path& path : run_folders(folder)) results.push_back(read_result(path));
  return results;
}

}  // namespace stap
