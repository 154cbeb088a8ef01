#include "results/labels.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "stap/results/run_result.h"
#include "stap/study/affecting.h"
#include "stap/study/study.h"

namespace stap {
namespace {

using config::Value;

// Leaves of a document by path: text as it is, the rest as JSON.
void leaves(const Value& value, const std::string& path, std::map<std::string, std::string>& out) {
  if (value.is_map()) {
    for (const auto& member : *value.map())
      leaves(member.value, path.empty() ? member.key : path + "." + member.key, out);
    return;
  }
  out[path] = value.text() != nullptr ? *value.text() : config::json_text(value, 0);
}

}  // namespace

std::vector<std::string> what_differs(const std::vector<const Value*>& documents) {
  std::map<std::string, std::set<std::string>> values;
  std::vector<std::map<std::string, std::string>> all;
  // The method has its name, and seeds are those of one row.
  using enum config::Affects;
  for (const Value* document : documents) {
    Value part = not_affecting(*document, {method, seed, record, solver, machine});
    for (const config::Family& family : study_families())  // what no name means is a choice, too
      if (Value* section = part.find(family.name);
          section != nullptr && !family.preset.empty() && section->find("name") == nullptr)
        section->set("name", family.preset);
    leaves(part, "", all.emplace_back());
  }
  for (const auto& one : all)
    for (const auto& [path, text] : one) values[path].insert(text);
  std::vector<std::string> texts(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i)
    for (const auto& [path, found] : values) {
      const bool everywhere =
          std::ranges::all_of(all, [&](const auto& one) { return one.contains(path); });
      if ((found.size() > 1 || !everywhere) && all[i].contains(path))
        texts[i] += fmt::format(" {}={}", path, all[i][path]);
    }
  return texts;
}

std::vector<std::string> labels(const std::vector<const RunResult*>& results) {
  std::vector<const Value*> documents;
  for (const RunResult* r : results) documents.push_back(&r->config);
  std::vector<std::string> names = what_differs(documents);
  for (std::size_t i = 0; i < results.size(); ++i) names[i] = results[i]->method + names[i];
  // The same settings may stand for another test set: a file that was replaced, another version.
  constexpr std::size_t kHashShown = 8;
  std::map<std::string, std::set<std::string>> tests;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i]->test_sha256.empty()) tests[names[i]].insert(results[i]->test_sha256);
  std::vector<std::string> all = names;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (const std::string& test = results[i]->test_sha256; tests[names[i]].size() > 1)
      all[i] += fmt::format(" test={}", test.empty() ? "none" : test.substr(0, kHashShown));
  return all;
}

}  // namespace stap
