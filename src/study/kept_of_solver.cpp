#include "stap/study/kept_of_solver.h"

#include <span>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/study/data_request.h"

namespace stap {

std::filesystem::path kept_of_solver(const Study& study, const std::string& kind) {
  const std::filesystem::path cache = cache_folder();
  const config::Value* pde = study.effective.find("pde");
  if (cache.empty() || pde == nullptr) return {};
  // What is not about how a step is made counts for nothing.
  constexpr const char* kOthers[] = {"slots",      "scratch", "on_failure",    "retries", "breaker",
                                     "stragglers", "grace",   "failures_kept", "limits"};
  config::Value way;
  if (const config::Value* solver = study.effective.find("solver")) way = *solver;
  for (const char* key : kOthers)
    if (way.is_map()) way.erase(key);
  const std::string text = config::yaml_text(*pde) + config::json_text(way, 0);
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

}  // namespace stap
