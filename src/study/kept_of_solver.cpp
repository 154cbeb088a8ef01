#include "stap/study/kept_of_solver.h"

#include <span>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/study/affecting.h"
#include "stap/study/data_request.h"

namespace stap {

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

}  // namespace stap
