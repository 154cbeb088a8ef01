// What the configuration of a run means now, and how two of them differ.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "stap/study/study.h"

namespace stap {

using config::Value;

namespace {

// Keys that came later than runs without them, which did what these say.
struct Older {
  const char *section, *key, *meaning;
};
constexpr Older kOlder[] = {{"train", "loss", "physical"}, {"study", "distances", "physical"}};

void add_differences(const config::Value* a, const config::Value* b, const std::string& path,
                     const std::string& where, std::vector<std::string>& list) {
  const bool maps = a != nullptr && b != nullptr && a->is_map() && b->is_map();
  if (!maps) {
    if (a != nullptr && b != nullptr && *a == *b) return;
    auto text = [](const config::Value* v) {
      return v == nullptr ? std::string("nothing") : config::json_text(*v, 0);
    };
    list.push_back(fmt::format("{}: {} in this command, {} in {}", path, text(a), text(b), where));
    return;
  }
  auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  for (const auto& member : *a->map())
    add_differences(&member.value, b->find(member.key), below(member.key), where, list);
  for (const auto& member : *b->map())
    if (a->find(member.key) == nullptr)
      add_differences(nullptr, &member.value, below(member.key), where, list);
}

}  // namespace

Value with_older_meaning(Value document) {
  for (const Older& older : kOlder)
    if (Value* section = document.find(older.section);
        section != nullptr && section->find(older.key) == nullptr)
      section->set(older.key, older.meaning);
  return document;
}

void keep_older_meaning(Study& study, const Value& of_run) {
  for (const Older& older : kOlder) {
    const std::string path = fmt::format("{}.{}", older.section, older.key);
    const Value* section = of_run.find(older.section);
    if (section == nullptr || section->find(older.key) != nullptr ||
        config::find_path(study.given, path) != nullptr)
      continue;
    study.effective.find(older.section)->set(older.key, older.meaning);
    if (path == "train.loss") study.train.loss = FitOptions::Loss::physical;
    if (path == "study.distances") study.options.distances = StudyOptions::Distances::physical;
  }
}

std::vector<std::string> differences(const Value& here, const Value& there,
                                     const std::string& where) {
  std::vector<std::string> list;
  add_differences(&here, &there, "", where, list);
  return list;
}

}  // namespace stap
