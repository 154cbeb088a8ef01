// The first screen: the finding, four answers, the figures that show it.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/html.h"
#include "report/page_parts.h"

namespace stap {
namespace {

const char* tone_name(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "good";
    case Tone::open:
      return "open";
    case Tone::bad:
      return "bad";
    case Tone::plain:
      break;
  }
  return "plain";
}

std::string tiles_html(const std::string& id, const std::vector<Tile>& tiles) {
  std::string html = "<div class=\"tiles\">\n";
  for (const Tile& tile : tiles) {
    html += fmt::format("<div class=\"tile\"><p class=\"asks\">{}</p><p class=\"says\"><b>{}</b>",
                        prose_html(tile.question), prose_html(tile.answer));
    if (!tile.pill.empty())
      html += fmt::format(" <span class=\"pill {}\">{}</span>", tone_name(tile.tone),
                          prose_html(tile.pill));
    html += fmt::format("</p><p class=\"more\">{}", prose_html(tile.details));
    if (tile.costs) html += fmt::format(" <a href=\"#{}\">Try other costs</a>", cost_id(id));
    html += "</p></div>\n";
  }
  return html + "</div>\n";
}

std::string words_html(const Headline& head, int level) {
  std::string html = fmt::format("<h{0} class=\"finding\">{1}</h{0}>\n<p class=\"lead\">{2}", level,
                                 prose_html(head.title), prose_html(head.text));
  if (!head.advice.empty() && head.command.empty())
    html += fmt::format(" {}.", prose_html(head.advice));
  html += "</p>\n";
  if (!head.command.empty())
    html += fmt::format("<p class=\"advice\">{}: <code>{}</code></p>\n", prose_html(head.advice),
                        escaped(head.command));
  return html;
}

std::string remarks_html(const std::vector<std::string>& remarks) {
  if (remarks.empty()) return {};
  std::string html = "<ul class=\"findings\">\n";
  for (const std::string& remark : remarks)
    html += fmt::format("<li>{}</li>\n", prose_html(remark));
  return html + "</ul>\n";
}

std::string case_html(const std::string& id, const ReportProblem& problem, const Headline& head) {
  const std::optional<Field> field = case_of(problem, head);
  if (!field) return {};
  return field_html(
      case_id(id), *field,
      field->models.size() > 1 ? "The same hard test case, both methods" : "The hardest test case");
}

// What a phase is called in a sentence.
std::string doing(const std::string& phase) {
  return phase == "train"      ? "training"
         : phase == "evaluate" ? "measuring errors"
         : phase == "select"   ? "choosing"
         : phase == "acquire"  ? "buying"
                               : phase;
}

}  // namespace

std::optional<Field> with_models(const Field& field, const std::vector<std::string>& labels) {
  Field some = field;
  some.models.clear();
  for (FieldChannel& channel : some.channels) {
    channel.predictions.clear();
    channel.errors.clear();
  }
  for (const std::string& label : labels) {
    const auto found = std::ranges::find(field.models, label, &FieldModel::label);
    if (found == field.models.end()) continue;
    const auto m = static_cast<std::size_t>(found - field.models.begin());
    some.models.push_back(*found);
    for (std::size_t c = 0; c < field.channels.size(); ++c) {
      some.channels[c].predictions.push_back(field.channels[c].predictions[m]);
      some.channels[c].errors.push_back(field.channels[c].errors[m]);
    }
  }
  if (some.models.empty()) return std::nullopt;
  return some;
}

std::optional<Field> case_of(const ReportProblem& problem, const Headline& head) {
  const auto worst = std::ranges::find(problem.fields, ExtractKind::worst, &Field::kind);
  if (worst == problem.fields.end()) return std::nullopt;
  std::vector<std::string> labels;
  for (const auto row : {head.against, head.best})
    if (row) labels.push_back(shortened(problem.methods[*row].label));
  if (labels.empty()) labels.push_back(worst->models.front().label);
  return with_models(*worst, labels);
}

std::string chart_finding(std::string_view id, const Chart& chart, const ReportProblem& problem,
                          const Headline& head) {
  if (!head.best) return {};
  const std::string& label = problem.methods[*head.best].label;
  const auto of = [&](const std::string& wanted) -> const Series* {
    const auto found = std::ranges::find_if(chart.series, [&](const Series& series) {
      return series.label == shortened(wanted) && !series.seed && !series.published;
    });
    return found == chart.series.end() ? nullptr : &*found;
  };
  const Series* best = of(label);
  if (id == "frequency" && best == nullptr && !chart.series.empty()) best = &chart.series.front();
  if (best == nullptr || best->y.size() < 2) return {};
  const std::vector<double>& y = best->y;
  if (id == "errors") {
    if (head.proved) return fmt::format("Error falls fastest with {}", label);
    const bool one = problem.table.rows[*head.best].of(head.whose).seeds.size() < 2;
    return head.against
               ? fmt::format("{} has the lowest curve, {}", label,
                             one ? "with one seed" : "within the spread of seeds")
               : fmt::format("Error {} from {:.3g} to {:.3g}",
                             y.back() <= y.front() ? "falls" : "rises", y.front(), y.back());
  }
  const double factor = y.back() / y.front();
  if ((id == "quantiles" || id == "by-step") && !std::isfinite(factor)) return {};
  if (id == "quantiles" && y.size() == 3)
    return factor < 1.05 ? fmt::format("{}: the hardest 1 % are as hard as the median", label)
                         : fmt::format("{}: the hardest 1 % have {:.2g} times the median error",
                                       label, factor);
  if (id == "by-step")
    return factor < 1.05
               ? fmt::format("{}: errors do not grow with the steps", label)
               : fmt::format("{}: errors grow {:.2g} times from the first step to the last", label,
                             factor);
  if (id == "frequency") {
    double early = 0, late = 0;
    for (std::size_t i = 0; i < y.size(); ++i) (2 * i < y.size() ? early : late) += y[i];
    const char* where = early > 1.5 * late   ? "mostly early steps"
                        : late > 1.5 * early ? "mostly late steps"
                                             : "steps all along the trajectories";
    return fmt::format("{} buys {}", best->label, where);
  }
  if (id == "times") {
    double sum = 0;
    for (const double seconds : y) sum += std::isfinite(seconds) ? seconds : 0;
    const auto most = std::ranges::max_element(y);
    if (!(sum > 0) || static_cast<std::size_t>(most - y.begin()) >= chart.x.names.size()) return {};
    return fmt::format("{}: {:.0f} % of the time is {}", label, 100 * *most / sum,
                       doing(chart.x.names[static_cast<std::size_t>(most - y.begin())]));
  }
  return {};
}

std::vector<std::string_view> first_charts(const ReportProblem& problem) {
  const Chart* errors = chart_of(problem, "errors");
  const Chart* losses = chart_of(problem, "losses");
  const bool none = errors == nullptr || errors->series.empty();
  const bool trained = losses != nullptr && !losses->series.empty();
  return {none && trained ? "losses" : "errors", "frequency"};
}

std::string first_html(const std::string& id, const ReportProblem& problem, const Headline& head,
                       int level) {
  std::string html = words_html(head, level) + tiles_html(id, head.tiles);
  std::string left, right;
  if (has_forest(problem, head)) left = forest_svg(problem, head);
  const auto add = [&](std::string& to, std::string_view chart, double height_mm) {
    const Chart* found = chart_of(problem, chart);
    if (found != nullptr)
      to += chart_html(chart_id(id, chart), *found, chart_finding(chart, *found, problem, head),
                       height_mm);
  };
  for (const std::string_view chart : first_charts(problem))
    add(chart == "frequency" ? right : left, chart, chart == "frequency" ? 58 : 100);
  right += case_html(id, problem, head);
  html += fmt::format(
      "<div class=\"cards\"><div class=\"card\">\n{}</div>\n<div class=\"card\">\n{}"
      "</div></div>\n",
      left, right);
  if (!head.about.empty()) html += fmt::format("<p class=\"how\">{}</p>\n", prose_html(head.about));
  return html + remarks_html(head.remarks);
}

}  // namespace stap
