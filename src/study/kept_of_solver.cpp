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

constexpr const char* kTraining = "training-seconds";

// What the seconds of training depend on.
std::string training_settings(const Study& study) {
  std::string text = fmt::format("{} {}", study.options.members, study.options.cluster);
  for (const char* section : {"network", "train", "compute"})
    if (const config::Value* value = study.effective.find(section))
      text += config::json_text(*value, 0);
  return text;
}

}  // namespace

std::filesystem::path kept_of_solver(const Study& study, const std::string& kind) {
  const std::filesystem::path cache = cache_folder();
  const config::Value* pde = study.effective.find("pde");
  if (cache.empty() || pde == nullptr) return {};
  const config::Value way = affecting(study.effective, {config::Affects::solver});
  const config::Value* solver = way.find("solver");
  const std::string text =
      config::yaml_text(*pde) + config::json_text(solver != nullptr ? *solver : config::Value(), 0);
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
  value.set("settings", training_settings(study));
  value.set("seconds", seconds);
  keep(kept_of_solver(study, kTraining), value);
}

std::optional<double> kept_training_seconds(const Study& study) {
  const std::filesystem::path file = kept_of_solver(study, kTraining);
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return std::nullopt;
  try {
    const config::Value value = read_json(file);
    const auto seconds = field<double>(value, "seconds", file);
    if (field<std::string>(value, "settings", file) == training_settings(study) &&
        std::isfinite(seconds) && seconds >= 0)
      return seconds;
  } catch (const Error&) {  // a cache may hold anything
  }
  return std::nullopt;
}

}  // namespace stap
