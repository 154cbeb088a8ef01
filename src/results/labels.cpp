#include "results/labels.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "stap/nn/family.h"
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
  std::map<std::string, std::size_t> found, of_owner;
  std::vector<std::map<std::string, std::string>> all;
  std::vector<std::string> owners;  // what no name means is a choice, too
  // The method has its name, and seeds are those of one row.
  using enum config::Affects;
  const config::Family network = network_family();
  for (const Value* document : documents) {
    Value part = not_affecting(*document, {method, seed, record, solver, machine});
    if (Value* section = part.find(network.name);
        section != nullptr && section->find("name") == nullptr)
      section->set("name", network.preset);
    leaves(part, "", all.emplace_back());
    const Value* name = config::find_path(part, network.name + ".name");
    owners.push_back(name != nullptr && name->text() != nullptr ? *name->text() : "");
    ++of_owner[owners.back()];
  }
  // Options of one family of networks are compared with those of the same family.
  const auto owner = [&](std::size_t i, const std::string& path) {
    const std::string key = path.substr(path.find('.') + 1);
    const bool own =
        path.starts_with(network.name + ".") && key != "name" &&
        std::ranges::count(network.shared->fields(), key, &config::FieldInfo::name) == 0;
    return own ? owners[i] + " " : std::string();
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto& [path, text] : all[i]) {
      values[owner(i, path) + path].insert(text);
      ++found[owner(i, path) + path];
    }
  std::vector<std::string> texts(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i)
    for (const auto& [path, text] : all[i]) {
      const std::string of = owner(i, path);
      const std::size_t could = of.empty() ? documents.size() : of_owner[owners[i]];
      if (values[of + path].size() > 1 || found[of + path] < could)
        texts[i] += fmt::format(" {}={}", path, text);
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
