#include "stap/study/tried_symmetries.h"

#include <algorithm>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "study/kept_of_solver.h"

namespace stap {
namespace {

constexpr const char* kTriedFolder = "tried-symmetries";
constexpr const char* kTriedFormat = "tried-symmetries/1";

std::vector<std::string> read_tried(const std::filesystem::path& file) {
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return {};
  std::vector<std::string> tried;
  try {
    const config::Value value = read_json(file);
    const config::Value* list = value.find("symmetries");
    if (field<std::string>(value, "format", file) != kTriedFormat || list == nullptr ||
        !list->is_list())
      return {};
    for (const config::Value& text : *list->list())
      if (text.text() != nullptr) tried.push_back(*text.text());
  } catch (const Error&) {  // a cache may hold anything
  }
  return tried;
}

}  // namespace

std::vector<std::string> untried_symmetries(const Study& study) {
  if (!study.pde || !study.pde.row->outline ||
      config::find_path(study.effective, "solver.argv") == nullptr)
    return {};
  std::vector<std::string> untried = study.train.symmetries;
  for (const std::string& tried : read_tried(kept_of_solver(study, kTriedFolder)))
    std::erase(untried, tried);
  return untried;
}

void keep_tried_symmetries(const Study& study, const std::vector<std::string>& symmetries) {
  if (symmetries.empty()) return;
  const std::filesystem::path file = kept_of_solver(study, kTriedFolder);
  std::vector<std::string> all = read_tried(file);
  for (const std::string& text : symmetries)
    if (std::ranges::find(all, text) == all.end()) all.push_back(text);
  config::Value value;
  value.set("format", kTriedFormat);
  value.set("symmetries", config::Value(config::Value::List(all.begin(), all.end())));
  keep(file, value);
}

}  // namespace stap
