#include "stap/results/learned_problem.h"

#include <algorithm>
#include <utility>

#include "results/labels.h"
#include "stap/config/complaints.h"
#include "stap/results/published.h"
#include "stap/study/affecting.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap {
namespace {

using config::Value;

// What makes the problem that is learned.
Value problem_of(const Value& effective) {
  return affecting(effective, {config::Affects::problem, config::Affects::source});
}

// The problems of all presets that have one, by name.
const std::vector<std::pair<std::string, Value>>& preset_problems() {
  static const auto problems = [] {
    std::vector<std::pair<std::string, Value>> list;
    for (const Preset& preset : presets()) {
      config::Complaints ignored;
      const Value problem =
          problem_of(config::check(study_families(), load_preset(preset), ignored));
      if (problem.find("pde") != nullptr) list.emplace_back(preset.name, problem);
    }
    return list;
  }();
  return problems;
}

// The preset of the same problem, else the name of the equation.
std::string name_of(const Value& problem) {
  for (const auto& [name, its_problem] : preset_problems())
    if (its_problem == problem) return name;
  const bool own = config::find_path(problem, "pde.label") != nullptr;
  return config::text_at(problem, own ? "pde.label" : "pde.name");
}

double number(const Value& config, const char* section, const char* key, double otherwise) {
  const Value* there = config.find(section);
  const Value* value = there != nullptr ? there->find(key) : nullptr;
  return value != nullptr ? value->real().value_or(otherwise) : otherwise;
}

}  // namespace

std::vector<ProblemRuns> by_problem(const std::vector<RunResult>& results) {
  std::vector<Value> problems;
  std::vector<ProblemRuns> groups;
  for (const RunResult& r : results) {
    Value problem = problem_of(r.config);
    const std::string name = name_of(problem);
    // Errors of single steps are of another kind than those of rollouts.
    if (r.test_sha256.empty() && number(r.config, "study", "validation", 0) > 0)
      problem.set("measured_on", "what was held back");
    const auto place = std::ranges::find(problems, problem) - problems.begin();
    if (place == std::ssize(problems)) {
      problems.push_back(problem);
      groups.push_back({name, {}});
    }
    groups[static_cast<std::size_t>(place)].runs.push_back(&r);
  }
  // Problems of one name say what sets them apart.
  std::vector<std::string> names;
  for (const ProblemRuns& group : groups) names.push_back(group.name);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<const Value*> alike;
    std::size_t mine = 0;
    for (std::size_t j = 0; j < groups.size(); ++j) {
      if (names[j] != names[i]) continue;
      if (j == i) mine = alike.size();
      alike.push_back(&problems[j]);
    }
    if (alike.size() > 1) groups[i].name += what_differs(alike)[mine];
  }
  return groups;
}

std::string published_problem(const Value& config) {
  const Value* pde = config.find("pde");
  const Value* name = pde != nullptr ? pde->find("name") : nullptr;
  if (name == nullptr || name->text() == nullptr || number(config, "pde", "forcing_rate", 0) != 0)
    return "";
  const double cluster = number(config, "study", "cluster", 1);
  const std::string problem = *name->text() + (cluster == 8   ? " 8l/8"
                                               : cluster == 2 ? " l/2"
                                               : cluster == 1 ? ""
                                                              : " ?");
  const auto values = published_values();
  return std::ranges::find(values, problem, &Published::problem) != values.end() ? problem : "";
}

bool has_published_sizes(const RunResult& r) {
  auto size = [&](const char* key) { return number(r.config, "study", key, 0); };
  return size("pool") == 10'000 && size("initial") == 32 && size("rounds") == 10 &&
         size("members") == 2 && size("budget") == 8 * static_cast<double>(r.steps) &&
         number(r.config, "network", "width", 0) == 64;
}

std::string preset_of(const RunResult& run, const std::string& name) {
  using enum config::Affects;
  const auto all_but = [](const Value& config) {
    return not_affecting(config, {method, seed, record, device, solver, machine});
  };
  for (const Preset& preset : presets()) {
    if (preset.name != name) continue;
    config::Complaints ignored;
    Value config = config::check(study_families(), load_preset(preset), ignored);
    if (all_but(config) == all_but(run.config)) return name;
  }
  return {};
}

}  // namespace stap
