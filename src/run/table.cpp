#include "stap/run/table.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "run/files.h"
#include "stap/config/complaints.h"
#include "stap/core/error.h"
#include "stap/run/published.h"
#include "stap/study/method.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

// Leaves of a document by path, but those that the method and the seed set. Text as it is, the rest
// as JSON.
void leaves(const Value& value, const std::string& path, std::map<std::string, std::string>& out) {
  if (value.is_map()) {
    for (const auto& member : *value.map())
      leaves(member.value, path.empty() ? member.key : path + "." + member.key, out);
    return;
  }
  if (path == "study.seed" || path.starts_with("base.") || path.starts_with("steps.") ||
      path.starts_with("planner."))
    return;
  out[path] = value.text() != nullptr ? *value.text() : config::json_text(value, 0);
}

// For each document " key=value" of every leaf that is not the same in all of them.
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

// What makes the problem that is learned: nothing else of two runs need be equal to compare them.
Value problem_of(const Value& effective) {
  Value problem;
  for (const char* section : {"pde", "initial"})
    if (const Value* there = effective.find(section)) problem.set(section, *there);
  if (const Value* study = effective.find("study"))
    for (const char* key : {"steps", "cluster"})
      if (const Value* there = study->find(key)) problem.set(key, *there);
  return problem;
}

// The problems of all presets that have one, by name.
const std::vector<std::pair<std::string, Value>>& preset_problems() {
  static const auto problems = [] {
    std::vector<std::pair<std::string, Value>> list;
    for (const Preset& preset : presets()) {
      config::Complaints ignored;
      const Value problem =
          problem_of(read_study(load_config(preset.name), Purpose::look, ignored).effective);
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
  const Value* pde = problem.find("pde");
  const Value* name = pde != nullptr ? pde->find("name") : nullptr;
  return name != nullptr && name->text() != nullptr ? *name->text() : "";
}

double number(const Value& config, const char* section, const char* key, double otherwise) {
  const Value* there = config.find(section);
  const Value* value = there != nullptr ? there->find(key) : nullptr;
  return value != nullptr ? value->real().value_or(otherwise) : otherwise;
}

// The problem's name in the published tables.
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

// Names of a sweep's runs, from its sweep.json; none if there is no such file.
std::vector<std::string> sweep_order(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::exists(folder / "sweep.json")) return names;
  const Value value = read_document(folder / "sweep.json");
  if (const Value* runs = value.find("runs"); runs != nullptr && runs->is_list())
    for (const Value& run : *runs->list())
      if (run.text() != nullptr) names.push_back(*run.text());
  return names;
}

double published_offset(std::size_t steps, std::size_t points) {
  const double l = static_cast<double>(steps), n = static_cast<double>(points);
  return 0.5 * std::log(l * n) - std::log(l - 1);
}

// Of no values at all the mean is NaN.
Summary summary_of(const std::vector<double>& values) {
  Summary summary = summarise(values);
  if (values.empty()) summary.mean = std::numeric_limits<double>::quiet_NaN();
  return summary;
}

// The headlines of one row's runs, summarised; `first`: those of the first row by seed, empty in
// that row itself.
TableCell cell_of(const std::vector<const RunResult*>& runs, Metric metric,
                  const std::map<std::uint64_t, double>& first) {
  TableCell cell;
  std::vector<double> headlines, paired;
  for (const RunResult* r : runs) {
    headlines.push_back(r->headline(metric));
    if (const auto partner = first.find(r->seed); partner != first.end())
      paired.push_back(headlines.back() - partner->second);
  }
  cell.log = summary_of(headlines);
  cell.difference = summary_of(paired);
  cell.difference_95 = half_interval_95(cell.difference);
  cell.by_seed = std::move(headlines);
  const auto logs = [&](const RunResult* r) -> const std::vector<double>& {
    return r->logs[static_cast<std::size_t>(metric)];
  };
  // Runs of one row may differ in nothing but the seed, so they have the same rounds.
  const std::size_t rounds = runs.empty() ? 0 : logs(runs[0]).size();
  for (std::size_t k = 0; k < rounds; ++k) {
    double sum = 0;
    for (const RunResult* r : runs) sum += logs(r)[k];
    cell.by_round.push_back(std::exp(sum / static_cast<double>(runs.size())));
  }
  return cell;
}

// The table of runs of one problem.
ProblemTable table_of(const std::vector<const RunResult*>& results, const std::string& baseline) {
  ProblemTable table;
  const RunResult& any = *results.front();
  const Value problem = problem_of(any.config);
  table.problem = name_of(problem);
  table.steps = any.steps;
  table.points = any.points;
  table.published_offset = published_offset(any.steps, any.points);
  table.published_problem = published_problem(any.config);
  table.published_sizes =
      std::ranges::all_of(results, [](auto* r) { return has_published_sizes(*r); });

  const std::vector<std::string> names = labels(results);
  std::vector<std::string> order;
  for (const std::string& name : names)
    if (std::ranges::find(order, name) == order.end()) order.push_back(name);
  if (!baseline.empty()) {
    const auto found = std::ranges::find(order, baseline);
    if (found == order.end())
      throw Error(ErrorKind::config,
                  fmt::format("there is no row '{}' in the table of {}{}", baseline, table.problem,
                              config::hint(baseline, order, "rows")));
    std::rotate(order.begin(), found, found + 1);
  }
  std::array<std::map<std::uint64_t, double>, kMetrics>
      first;  // headlines of the first row by seed
  for (const std::string& name : order) {
    TableRow row;
    row.label = name;
    std::vector<const RunResult*> runs;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const RunResult& r = *results[i];
      if (names[i] != name) continue;
      row.method = r.method;
      row.diverged += r.diverged;
      if (!r.complete()) {
        ++row.incomplete;
        continue;
      }
      row.seeds.push_back(r.seed);
      runs.push_back(&r);
    }
    for (std::size_t m = 0; m < kMetrics; ++m)
      row.cells[m] = cell_of(runs, static_cast<Metric>(m), first[m]);
    if (table.rows.empty())
      for (const RunResult* r : runs)
        for (std::size_t m = 0; m < kMetrics; ++m)
          first[m][r->seed] = r->headline(static_cast<Metric>(m));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::span<const MetricInfo, kMetrics> metric_infos() {
  static constexpr std::array<MetricInfo, kMetrics> rows{{
      {Metric::rmse, "rmse", "rmse", "RMSE", true},
      {Metric::nrmse, "nrmse", "nrmse", "NRMSE", false},
      {Metric::mae, "mae", "mae", "MAE", false},
      {Metric::q99, "q99", "rmse_q99", "RMSE 99 %", true},
      {Metric::q95, "q95", "rmse_q95", "RMSE 95 %", true},
      {Metric::q50, "q50", "rmse_q50", "RMSE 50 %", true},
  }};
  return rows;
}

const MetricInfo& info(Metric metric) {
  return metric_infos()[static_cast<std::size_t>(metric)];
}

double RunResult::headline(Metric metric) const {
  const std::vector<double>& values = logs[static_cast<std::size_t>(metric)];
  double sum = 0;
  for (double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

std::vector<std::string> labels(const std::vector<const RunResult*>& results) {
  std::vector<const Value*> documents;
  for (const RunResult* r : results) documents.push_back(&r->config);
  std::vector<std::string> names = what_differs(documents);
  for (std::size_t i = 0; i < results.size(); ++i) names[i] = results[i]->method + names[i];
  return names;
}

RunResult read_result(const fs::path& folder) {
  const fs::path config_path = folder / "config.yaml", metrics_path = folder / "metrics.jsonl";
  RunResult result;
  result.folder = folder;
  result.config = read_document(config_path);
  const Value* format = result.config.find("format");
  if (format == nullptr || format->text() == nullptr || *format->text() != "run/1")
    throw Error(ErrorKind::data, fmt::format("{} is not the folder of a run", folder.string()));
  result.config.erase("format");
  const Study study = make_study(result.config, Purpose::look);
  result.method = method_text(study.effective);
  result.seed = study.options.seed;
  result.rounds = study.options.rounds;
  result.steps = study.options.steps;
  result.points = make_solver(study, 1)->grid().points_total();
  std::ifstream in(metrics_path);
  for (std::string line; std::getline(in, line);) {
    const Value value = config::parse_yaml(line, metrics_path.string());
    auto at = [&](std::string_view key) -> const Value& {
      const Value* there = value.find(key);
      if (there == nullptr)
        throw Error(ErrorKind::data,
                    fmt::format("{} holds a line without {}", metrics_path.string(), key));
      return *there;
    };
    for (const MetricInfo& metric : metric_infos()) {
      const auto error = at(metric.key).real();  // null where it is not finite
      result.logs[static_cast<std::size_t>(metric.metric)].push_back(
          error ? std::log(*error) : std::numeric_limits<double>::infinity());
    }
    result.diverged += at("diverged").integer<std::uint64_t>().value_or(0);
  }
  return result;
}

std::vector<RunResult> read_results(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  if (fs::exists(folder / "config.yaml", error)) found.push_back(folder);
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / "config.yaml")) found.push_back(entry.path());
  if (found.empty())
    throw Error(ErrorKind::data,
                fmt::format("there is no run in {}: expected a folder made by 'stap run' or 'stap "
                            "sweep'",
                            folder.string()));
  std::sort(found.begin(), found.end());
  // The order of the sweep's grid where it is known; runs it does not name come last.
  const std::vector<std::string> order = sweep_order(folder);
  auto place = [&](const fs::path& path) {
    return std::find(order.begin(), order.end(), path.filename().string()) - order.begin();
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const fs::path& a, const fs::path& b) { return place(a) < place(b); });
  std::vector<RunResult> results;
  for (const fs::path& path : found) results.push_back(read_result(path));
  return results;
}

std::vector<ProblemTable> make_tables(const std::vector<RunResult>& results,
                                      const std::string& baseline) {
  std::vector<Value> problems;
  std::vector<std::vector<const RunResult*>> groups;
  for (const RunResult& r : results) {
    const Value problem = problem_of(r.config);
    const auto place = std::ranges::find(problems, problem) - problems.begin();
    if (place == std::ssize(problems)) {
      problems.push_back(problem);
      groups.emplace_back();
    }
    groups[static_cast<std::size_t>(place)].push_back(&r);
  }
  std::vector<ProblemTable> tables;
  for (const auto& group : groups) tables.push_back(table_of(group, baseline));
  // Problems of one name say what sets them apart.
  std::vector<std::string> names;
  for (const ProblemTable& table : tables) names.push_back(table.problem);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    std::vector<const Value*> alike;
    std::size_t mine = 0;
    for (std::size_t j = 0; j < tables.size(); ++j) {
      if (names[j] != names[i]) continue;
      if (j == i) mine = alike.size();
      alike.push_back(&problems[j]);
    }
    if (alike.size() > 1) tables[i].problem += what_differs(alike)[mine];
  }
  return tables;
}

}  // namespace stap
