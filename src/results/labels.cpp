#include "results/labels.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "stap/results/run_result.h"

namespace stap {
namespace {

using config::Value;

// What changes nothing in a run but what is kept of it and how it is measured.
constexpr std::array<std::string_view, 3> kSameRun = {"study.checkpoint_epochs",
                                                      "study.keep_committees", "study.images"};

// Leaves of a document by path, but those that the method and the seed set, those of kSameRun, and
// how a solver is reached. Text as it is, the rest as JSON.
void leaves(const Value& value, const std::string& path, std::map<std::string, std::string>& out) {
  if (value.is_map()) {
    for (const auto& member : *value.map())
      leaves(member.value, path.empty() ? member.key : path + "." + member.key, out);
    return;
  }
  if (path == "study.seed" || path.starts_with("base.") || path.starts_with("steps.") ||
      path.starts_with("planner.") || path.starts_with("solver.") ||
      std::ranges::find(kSameRun, path) != kSameRun.end())
    return;
  out[path] = value.text() != nullptr ? *value.text() : config::json_text(value, 0);
}

}  // namespace

std::vector<std::string> what_differs(const std::vector<const Value*>& documents) {
  std::map<std::string, std::set<std::string>> values;
  std::vector<std::map<std::string, std::string>> all;
  for (const Value* document : documents) leaves(*document, "", all.emplace_back());
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
