#include "stap/run/table.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "run/files.h"
#include "stap/core/error.h"
#include "stap/run/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

// Leaves of a document by path, but those that the method and the seed set.
void leaves(const Value& value, const std::string& path, std::map<std::string, std::string>& out) {
  if (value.is_map()) {
    for (const auto& member : *value.map())
      leaves(member.value, path.empty() ? member.key : path + "." + member.key, out);
    return;
  }
  if (path == "study.seed" || path.starts_with("base.") || path.starts_with("steps.")) return;
  out[path] = config::json_text(value, 0);
}

}  // namespace

std::vector<std::string> labels(const std::vector<RunResult>& results) {
  std::map<std::string, std::set<std::string>> values;
  std::vector<std::map<std::string, std::string>> all;
  for (const RunResult& r : results) {
    leaves(r.config, "", all.emplace_back());
    for (const auto& [path, text] : all.back()) values[path].insert(text);
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::string label = results[i].method;
    for (const auto& [path, texts] : values)
      if (texts.size() > 1) label += fmt::format(" {}={}", path, all[i][path]);
    names.push_back(std::move(label));
  }
  return names;
}

namespace {

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

// From a value of RMSE to that of the published tables, as logarithms.
double published_offset(const RunResult& r) {
  const double l = static_cast<double>(r.steps), n = static_cast<double>(r.points);
  return 0.5 * std::log(l * n) - std::log(l - 1);
}

std::string sparkline(const std::vector<double>& values) {
  static const char* const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (double v : values)
    if (std::isfinite(v)) low = std::min(low, std::log(v)), high = std::max(high, std::log(v));
  std::string line;
  for (double v : values) {
    if (!std::isfinite(v)) {
      line += "!";
      continue;
    }
    const double part = high > low ? (std::log(v) - low) / (high - low) : 0.0;
    line += bars[std::min(7, static_cast<int>(part * 8))];
  }
  return line;
}

std::string plus_minus(double mean, double spread) {
  if (!std::isfinite(mean)) return "div";
  return std::isfinite(spread) ? fmt::format("{:+.3f} ± {:.3f}", mean, spread)
                               : fmt::format("{:+.3f}", mean);
}

// Display width of UTF-8 text whose characters are one column wide.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

double RunResult::headline() const {
  double sum = 0;
  for (double v : log_rmse) sum += v;
  return sum / static_cast<double>(log_rmse.size());
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
  const Study study = make_study(result.config);
  result.method = method_text(study.effective);
  result.seed = study.options.seed;
  result.rounds = study.options.rounds;
  result.steps = study.options.steps;
  result.points = make_solver(study, 1)->grid().points_total();
  std::ifstream in(metrics_path);
  for (std::string line; std::getline(in, line);) {
    const Value value = config::parse_yaml(line, metrics_path.string());
    const Value* rmse = value.find("rmse");
    const Value* diverged = value.find("diverged");
    if (rmse == nullptr || diverged == nullptr)
      throw Error(ErrorKind::data,
                  fmt::format("{} holds a line without rmse and diverged", metrics_path.string()));
    result.log_rmse.push_back(rmse->real() ? std::log(*rmse->real())
                                           : std::numeric_limits<double>::infinity());
    result.diverged += diverged->integer<std::uint64_t>().value_or(0);
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

std::vector<TableRow> make_table(const std::vector<RunResult>& results,
                                 const std::string& baseline) {
  const std::vector<std::string> names = labels(results);
  std::vector<std::string> order;
  for (const std::string& name : names)
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  if (!baseline.empty()) {
    const auto found = std::find(order.begin(), order.end(), baseline);
    if (found == order.end())
      throw Error(ErrorKind::config, fmt::format("there is no row '{}'{}", baseline,
                                                 config::hint(baseline, order, "rows")));
    std::rotate(order.begin(), found, found + 1);
  }
  std::map<std::uint64_t, double> first;  // headline of the first row by seed
  std::vector<TableRow> rows;
  for (const std::string& name : order) {
    TableRow row;
    row.label = name;
    std::vector<double> headline, published, paired;
    std::vector<std::vector<double>> by_round;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const RunResult& r = results[i];
      if (names[i] != name) continue;
      row.diverged += r.diverged;
      if (!r.complete()) {
        ++row.incomplete;
        continue;
      }
      row.seeds.push_back(r.seed);
      headline.push_back(r.headline());
      published.push_back(r.headline() + published_offset(r));
      if (rows.empty()) {
        first[r.seed] = r.headline();
      } else if (first.contains(r.seed)) {
        paired.push_back(r.headline() - first[r.seed]);
      }
      by_round.push_back(r.log_rmse);
    }
    row.log_rmse = summarise(headline);
    row.log_rmse_published = summarise(published);
    row.difference = summarise(paired);
    row.difference_95 = half_interval_95(row.difference);
    const std::size_t rounds = by_round.empty() ? 0 : by_round[0].size();
    for (std::size_t k = 0; k < rounds; ++k) {
      double sum = 0;
      for (const auto& run : by_round) sum += run[k];
      row.rmse_by_round.push_back(std::exp(sum / static_cast<double>(by_round.size())));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string table_text(const std::vector<TableRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"method", "seeds", "log RMSE", "published scale",
                                               "difference, 95 %", "last RMSE", "by round"}};
  std::string notes;
  for (const TableRow& row : rows) {
    const bool is_first = &row == &rows.front();
    cells.push_back(
        {row.label, fmt::format("{}", row.seeds.size()),
         plus_minus(row.log_rmse.mean, row.log_rmse.deviation),
         plus_minus(row.log_rmse_published.mean, row.log_rmse_published.deviation),
         is_first || row.difference.count == 0 ? "-"
                                               : plus_minus(row.difference.mean, row.difference_95),
         row.rmse_by_round.empty() ? "-" : fmt::format("{:.4g}", row.rmse_by_round.back()),
         sparkline(row.rmse_by_round)});
    if (row.diverged > 0)
      notes += fmt::format("{}: div({}): rollouts that were not finite\n", row.label, row.diverged);
    if (row.incomplete > 0)
      notes +=
          fmt::format("{}: {} runs are not finished and not counted\n", row.label, row.incomplete);
  }
  std::vector<std::size_t> widths(cells[0].size());
  for (const auto& line : cells)
    for (std::size_t c = 0; c < line.size(); ++c)
      widths[c] = std::max(widths[c], width_of(line[c]));
  std::string text;
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      text += line[c];
      if (c + 1 < line.size()) text += std::string(widths[c] - width_of(line[c]) + 2, ' ');
    }
    text += '\n';
  }
  text +=
      "log RMSE: mean over rounds of the natural logarithm, ± standard deviation over seeds; lower "
      "is better.\ndifference: to the first row, paired by seed, ± half the 95 % interval.\n";
  return text + notes;
}

config::Value table_value(const std::vector<TableRow>& rows) {
  Value::List list;
  for (const TableRow& row : rows) {
    Value v;
    v.set("label", row.label);
    v.set("seeds", Value(Value::List(row.seeds.begin(), row.seeds.end())));
    v.set("log_rmse_mean", row.log_rmse.mean);
    v.set("log_rmse_sd", row.log_rmse.deviation);
    v.set("log_rmse_published_mean", row.log_rmse_published.mean);
    v.set("log_rmse_published_sd", row.log_rmse_published.deviation);
    v.set("difference_mean", row.difference.count > 0 ? Value(row.difference.mean) : Value());
    v.set("difference_95", row.difference.count > 1 ? Value(row.difference_95) : Value());
    v.set("difference_pairs", row.difference.count);
    v.set("rmse_by_round", Value(Value::List(row.rmse_by_round.begin(), row.rmse_by_round.end())));
    v.set("diverged", row.diverged);
    v.set("incomplete", row.incomplete);
    list.push_back(std::move(v));
  }
  Value value;
  value.set("format", "table/1");
  value.set("rows", Value(std::move(list)));
  return value;
}

}  // namespace stap
