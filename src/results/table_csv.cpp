// Tables as comma-separated values.
#include <cmath>

#include <fmt/format.h>

#include "results/table_blocks.h"
#include "stap/results/table_format.h"

namespace stap {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

// As few digits as read back as the same number; nothing for what is no number.
std::string digits(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : "";
}

}  // namespace

std::string tables_csv(std::span<const ProblemTable> tables, const TableView& view) {
  std::string text =
      "problem,label,model,seeds,metric,scale,mean,sd,difference,difference_95,pairs,diverged,"
      "incomplete";
  text += view.paper ? ",paper_mean,paper_sd,paper_difference\n" : "\n";
  for (const ProblemTable& table : tables)
    for (const TableRow& row : table.rows)
      for (const MetricInfo& metric : metric_infos()) {
        if (view.metric && *view.metric != metric.metric) continue;
        const TableErrors& errors = row.of(view.whose);
        const TableCell& cell = errors.of(metric.metric);
        const Published* published = published_of(table, row, metric.metric);
        for (const bool on_published : {false, true}) {
          if (on_published && !metric.two_scales) continue;
          const double mean = on_published ? on_published_scale(cell.log.mean, table, metric.metric)
                                           : cell.log.mean;
          text += fmt::format(
              "{},{},{},{},{},{},{},{},{},{},{},{},{}", quoted(table.problem), quoted(row.label),
              view.whose == ErrorsOf::members ? "members" : "mean", errors.seeds.size(),
              metric.name, on_published ? "published" : "own", digits(mean),
              digits(cell.log.deviation), digits(cell.difference.mean), digits(cell.difference_95),
              cell.difference.count, errors.diverged, row.incomplete);
          // A published number stands in the line of its own scale.
          if (view.paper) {
            const bool here = published != nullptr && on_published == metric.two_scales;
            text += here ? fmt::format(",{},{},{}", published->mean, published->deviation,
                                       digits(published_difference(table, row, metric.metric)))
                         : ",,,";
          }
          text += '\n';
        }
      }
  return text;
}

}  // namespace stap
