#include "stap/study/kept_of_solver.h"

#include <cmath>
#include <span>

#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/study/affecting.h"
#include "stap/study/data_request.h"

namespace stap {
namespace {

// What the seconds of training depend on: what computes them, however that was asked for, and how
// many steps of which networks. (Symmetries and noise, which may be added for what a check of the
// solver has advised, cost next to nothing.)
std::string training_settings(const Study& study) {
  const bool gpu = uses_gpu(study.compute);
  std::string text =
      fmt::format("{} {} {}", study.options.members, study.options.cluster, gpu ? "gpu" : "cpu");
  for (const char* key : {"network", "train.epochs", "train.steps", "train.batch"})
    if (const config::Value* value = config::find_path(study.effective, key))
      text += config::json_text(*value, 0);
  return gpu ? text + (study.compute.precision == ComputeOptions::Precision::fp32 ? "32" : "")
             : text;
}

// A file for each, so that one measurement does not replace another.
std::filesystem::path training_file(const Study& study) {
  return kept_of_solver(study, "training-seconds", training_settings(study));
}

}  // namespace

std::filesystem::path kept_of_solver(const Study& study, const std::string& kind,
                                     const std::string& more) {
  const std::filesystem::path cache = cache_folder();
  const config::Value* pde = study.effective.find("pde");
  if (cache.empty() || pde == nullptr) return {};
  const config::Value way = affecting(study.effective, {config::Affects::solver});
  const config::Value* solver = way.find("solver");
  const std::string text = config::yaml_text(*pde) +
                           config::json_text(solver != nullptr ? *solver : config::Value(), 0) +
                           more;
  return cache / kind / (sha256_hex(std::as_bytes(std::span(text))) + ".json");
}

void keep(const std::filesystem::path& file, const config::Value& value) {
  if (file.empty()) return;
  try {
    make_folder(file.parent_path());
    write_text(file, config::json_text(value) + "\n");
  } catch (const Error&) {
  }
}

void keep_training_seconds(const Study& study, double seconds) {
  config::Value value;
  value.set("seconds", seconds);
  keep(training_file(study), value);
}

std::optional<double> kept_training_seconds(const Study& study) {
  const std::filesystem::path file = training_file(study);
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return std::nullopt;
  try {
    const auto seconds = field<double>(read_json(file), "seconds", file);
    if (std::isfinite(seconds) && seconds >= 0) return seconds;
  } catch (const Error&) {  // a cache may hold anything
  }
  return std::nullopt;
}

}  // namespace stap
