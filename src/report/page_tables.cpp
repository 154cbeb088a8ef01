// The tables of a problem.
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <span>

#include <fmt/format.h>

#include "report/html.h"
#include "report/page_parts.h"
#include "stap/results/table_entry.h"

namespace stap {
namespace {

constexpr double kNoNumberHere = std::numeric_limits<double>::quiet_NaN();

Cell entry_cell(double mean, double spread, std::size_t diverged) {
  return number_cell(mean, entry_text({mean, spread, diverged}));
}

std::string list_html(const std::vector<std::string>& lines, const char* kind) {
  std::string html = fmt::format("<ul class=\"{}\">\n", kind);
  for (const std::string& line : lines) html += fmt::format("<li>{}</li>\n", prose_html(line));
  return lines.empty() ? std::string() : html + "</ul>\n";
}

std::string date_text(double seconds) {
  if (!(seconds > 0) || seconds > 4e9) return "-";
  const std::time_t time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return "-";
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts)};
}

// What the rows have cost if initial conditions are free, and if they are not.
std::string steps_html(const std::string& id, const ProblemTable& table) {
  HtmlTable html{
      id,
      "Means over seeds after the last round: solver steps bought, trajectories they are "
      "of, and the steps with the warm-ups that lead to the initial conditions of these, "
      "which are free in all else here unless they are charged",
      {"method", "solver steps", "trajectories", "with warm-ups"},
      {}};
  for (const TableRow& row : table.rows) {
    if (!std::isfinite(row.candidates)) continue;
    std::vector<Cell> cells{text_cell(row.label)};
    for (const double number :
         {row.solver_steps, row.candidates, row.solver_steps + row.warm_up_steps})
      cells.push_back(number_cell(
          number, std::isfinite(number) ? fmt::format("{:.0f}", number) : std::string("-")));
    html.rows.push_back(std::move(cells));
  }
  return html.rows.empty() ? std::string() : table_html(html);
}

}  // namespace

std::string error_table_id(const std::string& id, ErrorsOf whose) {
  const std::string table = id + "-table";
  return whose == ErrorsOf::members ? table : fmt::format("{}-{}", table, info(whose).name);
}

std::string error_table_html(const std::string& id, const ProblemTable& table, ErrorsOf whose) {
  const auto measured = [&](const TableRow& row) { return !row.of(whose).seeds.empty(); };
  if (std::ranges::none_of(table.rows, measured)) return {};
  const bool members = whose == ErrorsOf::members;
  // Published numbers are the members'.
  const bool paper =
      members && table.published_sizes && std::ranges::any_of(table.rows, [&](const TableRow& row) {
        return published_of(table, row, Metric::rmse) != nullptr;
      });
  HtmlTable html{
      id,
      fmt::format(
          "Errors of the {}: mean over rounds of the natural logarithm, ± standard deviation "
          "over seeds; lower is better{}",
          whose == ErrorsOf::mean_model ? "averaged model, the one you would deploy"
                                        : info(whose).title,
          table.rows.size() == 1
              ? std::string()
              : fmt::format(". Differences are to {}, paired by seed, ± half the 95 % interval, "
                            "corrected for all pairs of rows",
                            shortened(table.rows.front().label))),
      {"method", "seeds"},
      {}};
  for (const MetricInfo& metric : metric_infos()) {
    html.head.push_back(fmt::format("log {}", metric.title));
    if (metric.metric != Metric::rmse) continue;
    if (paper) html.head.insert(html.head.end(), {"published scale", "paper"});
    html.head.insert(html.head.end(), {"difference, 95 %", "last RMSE"});
  }
  const bool any_diverged = std::ranges::any_of(
      table.rows, [&](const TableRow& row) { return row.of(whose).diverged > 0; });
  if (any_diverged) html.head.emplace_back("diverged");
  for (const TableRow& row : table.rows) {
    const TableErrors& errors = row.of(whose);
    const double seeds = static_cast<double>(errors.seeds.size());
    std::vector<Cell> cells{text_cell(row.label), number_cell(seeds, fmt::format("{}", seeds))};
    for (const MetricInfo& metric : metric_infos()) {
      const TableCell& cell = errors.of(metric.metric);
      cells.push_back(entry_cell(cell.log.mean, cell.log.deviation, errors.diverged));
      if (metric.metric != Metric::rmse) continue;
      if (paper) {
        const Published* value = published_of(table, row, Metric::rmse);
        cells.push_back(entry_cell(on_published_scale(cell.log.mean, table, Metric::rmse),
                                   cell.log.deviation, errors.diverged));
        cells.push_back(value != nullptr ? entry_cell(value->mean, value->deviation, 0)
                                         : number_cell(kNoNumberHere, "-"));
      }
      const bool differs = std::isfinite(cell.difference.mean);
      cells.push_back(
          entry_cell(differs ? cell.difference.mean : kNoNumberHere, cell.corrected_95, 0));
      cells.push_back(cell.by_round.empty() ? number_cell(kNoNumberHere, "-")
                                            : digits_cell(cell.by_round.back()));
    }
    if (any_diverged)
      cells.push_back(
          number_cell(static_cast<double>(errors.diverged), fmt::format("{}", errors.diverged)));
    html.rows.push_back(std::move(cells));
  }
  const std::array one{table};
  std::vector<std::string> notes =
      table_notes(one, {.metric = std::nullopt, .paper = paper, .whose = whose});
  // The caption says these.
  std::erase_if(notes, [](const std::string& note) {
    return note.starts_with("Logarithms:") || note.starts_with("Differences:");
  });
  return table_html(html) + list_html(notes, "notes");
}

std::string channels_html(const std::string& id, const ProblemTable& table, ErrorsOf whose) {
  const auto known = [&](const TableRow& row) {
    return row.of(whose).rmse_by_channel.size() == table.channels.size();
  };
  if (table.channels.size() < 2 || std::ranges::none_of(table.rows, known)) return {};
  HtmlTable html{
      id,
      fmt::format("Errors of the {} by channel after the last round, geometric means over "
                  "seeds",
                  info(whose).title),
      {"method"},
      {}};
  for (const char* metric : {"RMSE", "NRMSE"})
    for (const std::string& channel : table.channels)
      html.head.push_back(fmt::format("{} of {}", metric, shortened(channel)));
  for (const TableRow& row : table.rows) {
    if (!known(row)) continue;
    std::vector<Cell> cells{text_cell(row.label)};
    for (const auto* errors : {&row.of(whose).rmse_by_channel, &row.of(whose).nrmse_by_channel})
      for (const double error : *errors) cells.push_back(digits_cell(error));
    html.rows.push_back(std::move(cells));
  }
  return table_html(html);
}

std::string ledger_html(const std::string& id, const ReportProblem& problem) {
  HtmlTable html{id,
                 "Solver steps of all seeds together, the initial trajectories included; warm-ups "
                 "are in it where they are charged",
                 {"method", "budget", "bought"},
                 {}};
  // Most studies do not charge them.
  const bool warm_ups = std::ranges::any_of(
      problem.methods, [](const ReportMethod& method) { return method.ledger.warm_up > 0; });
  if (warm_ups) html.head.emplace_back("warm-ups");
  html.head.insert(html.head.end(), {"refused", "failed", "unspent"});
  std::vector<std::string> reasons;
  for (const ReportMethod& method : problem.methods) {
    const Ledger& ledger = method.ledger;
    std::vector<Cell> cells{text_cell(method.label)};
    std::vector<std::size_t> numbers{ledger.budget, ledger.bought};
    if (warm_ups) numbers.push_back(ledger.warm_up);
    numbers.insert(numbers.end(), {ledger.refused, ledger.failed, ledger.unspent});
    for (const std::size_t n : numbers)
      cells.push_back(number_cell(static_cast<double>(n), fmt::format("{}", n)));
    html.rows.push_back(std::move(cells));
    for (const std::string& reason : ledger.reasons)
      reasons.push_back(fmt::format("{}, {}", shortened(method.label), shortened(reason, 300)));
  }
  std::string text = table_html(html) + steps_html(id + "-steps", problem.table);
  if (!reasons.empty())
    text += fmt::format(
        "<details class=\"reasons\"><summary>Queries that were refused or failed, the first "
        "ones</summary>\n{}</details>\n",
        list_html(reasons, "notes"));
  return text;
}

std::string runs_html(const Report& report, std::size_t most) {
  HtmlTable html{"runs-table",
                 "Every run of the given folders",
                 {"folder", "problem", "method", "seed", "state", "how far, or what is wrong",
                  "stap", "networks on", "CPU", "instruction set", "host", "last sign of life"},
                 {}};
  for (const ReportRun& run : std::span(report.runs).first(std::min(most, report.runs.size()))) {
    const Cell seed =
        run.seed ? number_cell(static_cast<double>(*run.seed), fmt::format("{}", *run.seed))
                 : number_cell(kNoNumberHere, "-");
    const Manifest& m = run.manifest;
    std::vector<Cell> cells{text_cell(run.folder), text_cell(run.problem), text_cell(run.label),
                            seed};
    cells.push_back({fmt::format("<span class=\"state {}\">{}</span>",
                                 run.state == ReportRun::State::finished ? "good" : "bad",
                                 to_string(run.state))});
    cells.push_back({escaped(shortened(run.words, 400))});
    for (const std::string* text : {&m.version, &m.device, &m.cpu, &m.instruction_set, &run.host})
      cells.push_back(text_cell(*text));
    cells.push_back({escaped(date_text(run.time))});
    html.rows.push_back(std::move(cells));
  }
  const auto finished =
      std::ranges::count(report.runs, ReportRun::State::finished, &ReportRun::state);
  const std::string table =
      "<p>To repeat a run: <code>stap run FOLDER --out NEW</code>, with a folder of this table. "
      "Its "
      "configuration is in <code>config.yaml</code> there.</p>\n" +
      table_html(html);
  const bool all = finished == std::ssize(report.runs);
  return fmt::format("<section id=\"runs\"><h2>Runs</h2>\n{}{}</section>\n",
                     all ? fold_html("runs-fold",
                                     fmt::format("{}, all finished: folders, machines, versions",
                                                 count_text(report.runs.size(), "run")),
                                     table)
                         : table,
                     list_html(report.notes, "notes"));
}

}  // namespace stap
