// What the page's script needs, and the report as JSON.
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/page_parts.h"
#include "report/script_json.h"
#include "stap/report/page.h"
#include "stap/results/table_format.h"

namespace stap {
namespace {

using config::list_of;
using config::Value;

Value chart_value(const ReportChart& chart) {
  Value::List variants;
  for (const Chart& variant : chart.variants) variants.push_back(to_value(variant));
  Value value;
  value.set("variants", Value(std::move(variants)));
  return value;
}

// Every chart of a problem that has something to show, by its id.
void add_charts(const std::string& id, const ReportProblem& problem, Value& charts) {
  const auto add = [&](const ReportChart& chart, const std::string& name) {
    if (!chart.variants.front().series.empty()) charts.set(name, chart_value(chart));
  };
  for (const ReportChart& chart : problem.charts) add(chart, chart_id(id, chart.id));
  for (std::size_t m = 0; m < problem.methods.size(); ++m)
    for (const ReportChart& chart : problem.methods[m].charts)
      add(chart, chart_id(id, chart.id, m));
}

void add_tables(const std::string& id, const ReportProblem& problem, Value& tables) {
  const std::array one{problem.table};
  for (const ErrorsOfInfo& errors : errors_of_infos()) {
    const TableView view{.metric = std::nullopt, .paper = false, .whose = errors.whose};
    Value table;
    table.set("csv", tables_csv(one, view));
    table.set("latex", tables_latex(one, view));
    tables.set(error_table_id(id, errors.whose), std::move(table));
  }
}

Value cost_terms(const ReportMethod& method) {
  const CostTerms& terms = method.cost->cost.terms;
  Value value;
  value.set("label", shortened(method.label));
  value.set("baseline", shortened(method.cost->baseline));
  value.set("initial", terms.initial);
  value.set("budget", terms.budget);
  value.set("rounds", terms.rounds);
  const auto& efficiency = method.cost->cost.efficiency;
  value.set("efficiency", efficiency ? Value(*efficiency) : Value());
  value.set("train_seconds_per_step", terms.train);
  value.set("select_seconds_per_round", terms.select);
  value.set("acquire_seconds_per_step", terms.acquire);
  return value;
}

void add_cost(const std::string& id, const ReportProblem& problem, Value& costs) {
  Value::List methods;
  std::string baseline;
  for (const ReportMethod& method : problem.methods) {
    if (!method.cost) continue;
    methods.push_back(cost_terms(method));
    if (baseline.empty()) baseline = method.cost->baseline;
  }
  if (methods.empty()) return;
  Value value;
  value.set("baseline", shortened(baseline));
  value.set("methods", Value(std::move(methods)));
  costs.set(cost_id(id), std::move(value));
}

Value field_value(const Field& field) {
  Value value;
  value.set("dimensions", field.dimensions);
  value.set("times", list_of(field.times));
  value.set("width", field.width);
  value.set("height", field.height);
  value.set("columns", field.columns);
  value.set("lengths", list_of(field.lengths));
  Value::List models, channels;
  for (const FieldModel& model : field.models) {
    Value& one = models.emplace_back();
    one.set("label", shortened(model.label));
    one.set("group", model.group);
  }
  for (const FieldChannel& channel : field.channels) {
    Value& one = channels.emplace_back();
    one.set("name", shortened(channel.name));
    one.set("low", channel.truth.low);
    one.set("high", channel.truth.high);
    one.set("error", channel.errors.empty() ? 0 : channel.errors[0].high);
  }
  value.set("models", Value(std::move(models)));
  value.set("channels", Value(std::move(channels)));
  return value;
}

// Those that are on the page.
void add_fields(const std::string& id, const ReportProblem& problem, const Headline& head,
                Value& fields) {
  if (const auto first = case_of(problem, head)) fields.set(case_id(id), field_value(*first));
  for (const Field& field : problem.fields) fields.set(field_id(id, field), field_value(field));
}

Value ledger_value(const Ledger& ledger) {
  Value value;
  value.set("budget", ledger.budget);
  value.set("bought", ledger.bought);
  value.set("warm_up", ledger.warm_up);
  value.set("refused", ledger.refused);
  value.set("refused_by_trust", ledger.refused_by_trust);
  value.set("failed", ledger.failed);
  value.set("charged_failures", ledger.charged_failures);
  value.set("unspent", ledger.unspent);
  value.set("reasons", list_of(ledger.reasons));
  return value;
}

Value method_value(const ReportMethod& method) {
  Value value;
  value.set("label", method.label);
  value.set("method", method.method);
  value.set("initial_steps", method.initial_steps);
  value.set("solver_steps", method.solver_steps);
  value.set("ledger", ledger_value(method.ledger));
  Value cost;
  if (method.cost) {
    cost = cost_terms(method);
    cost.set("verdict", method.cost->cost.text);
  }
  value.set("cost", std::move(cost));
  // States are in its extracts.h5.
  value.set("shown", method.shown);
  value.set("shown_seed", method.shown_seed);
  return value;
}

Value run_value(const ReportRun& run) {
  Value value;
  value.set("folder", run.folder);
  // A name in JSON, which stays.
  value.set("state", run.state == ReportRun::State::not_begun ? "not begun" : to_string(run.state));
  value.set("words", run.words);
  value.set("problem", run.problem);
  value.set("label", run.label);
  value.set("seed", run.seed ? Value(*run.seed) : Value());
  value.set("version", run.manifest.version);
  value.set("device", run.manifest.device);
  value.set("cpu", run.manifest.cpu);
  value.set("instruction_set", run.manifest.instruction_set);
  value.set("host", run.host);
  value.set("time", run.time > 0 ? Value(run.time) : Value());
  return value;
}

Value empty_map() {
  return Value(Value::Map{});
}

}  // namespace

std::string script_json(const Value& value) {
  std::string out;
  const std::string text = config::json_text(value, 0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Neither may begin a tag or a comment; the two separators end lines of older scripts.
    if (text[i] == '<')
      out += "\\u003c";
    else if (text.compare(i, 2, "\xe2\x80") == 0 && i + 2 < text.size() &&
             (text[i + 2] == '\xa8' || text[i + 2] == '\xa9')) {
      out += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string page_data(const Report& report, std::size_t problems,
                      const std::vector<Headline>& heads) {
  Value charts = empty_map(), tables = empty_map(), costs = empty_map(), fields = empty_map();
  for (std::size_t p = 0; p < problems; ++p) {
    const std::string id = fmt::format("p{}", p + 1);
    add_charts(id, report.problems[p], charts);
    add_tables(id, report.problems[p], tables);
    add_cost(id, report.problems[p], costs);
    add_fields(id, report.problems[p], heads[p], fields);
  }
  Value data;
  data.set("format", "report-data/1");
  data.set("summary", summary_markdown(report, heads));
  data.set("charts", std::move(charts));
  data.set("tables", std::move(tables));
  data.set("costs", std::move(costs));
  data.set("fields", std::move(fields));
  return script_json(data);
}

Value report_value(const Report& report) {
  Value::List words, problems, runs;
  std::vector<ProblemTable> tables;
  for (const Finding& finding : findings(report)) {
    Value& one = words.emplace_back();
    one.set("problem", finding.problem);
    one.set("text", finding.text);
  }
  for (const ReportProblem& problem : report.problems) {
    tables.push_back(problem.table);
    Value charts = empty_map();
    for (const ReportChart& chart : problem.charts) charts.set(chart.id, chart_value(chart));
    Value::List methods;
    for (const ReportMethod& method : problem.methods) methods.push_back(method_value(method));
    Value& one = problems.emplace_back();
    one.set("problem", problem.table.problem);
    one.set("charts", std::move(charts));
    one.set("methods", Value(std::move(methods)));
    one.set("notes", list_of(problem.notes));
  }
  for (const ReportRun& run : report.runs) runs.push_back(run_value(run));
  Value value;
  value.set("format", "report/1");
  value.set("folders", list_of(report.folders));
  value.set("findings", Value(std::move(words)));
  value.set("tables", tables_value(tables, {.metric = std::nullopt, .paper = true}));
  value.set("problems", Value(std::move(problems)));
  value.set("runs", Value(std::move(runs)));
  value.set("notes", list_of(report.notes));
  return value;
}

}  // namespace stap
