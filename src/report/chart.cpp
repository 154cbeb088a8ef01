#include "stap/report/chart.h"

#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace stap {
namespace {

using config::Value;

// Six digits are more than a screen shows, and a third of the bytes.
Value short_list(const std::vector<double>& values) {
  Value::List list;
  list.reserve(values.size());
  for (const double v : values)
    list.emplace_back(std::isfinite(v) ? std::strtod(fmt::format("{:.6g}", v).c_str(), nullptr)
                                       : v);
  return Value(std::move(list));
}

std::string_view mark_name(Series::Mark mark) {
  return mark == Series::Mark::line ? "line" : mark == Series::Mark::points ? "points" : "bars";
}

Value axis_value(const Axis& axis) {
  Value value;
  value.set("label", axis.label);
  value.set("unit", axis.unit);
  value.set("log", axis.log);
  if (axis.whole) value.set("whole", true);
  if (!std::isnan(axis.low)) value.set("low", axis.low);
  if (!std::isnan(axis.high)) value.set("high", axis.high);
  if (!axis.names.empty()) value.set("names", config::list_of(axis.names));
  return value;
}

Value series_value(const Series& series) {
  Value value;
  value.set("label", series.label);
  value.set("group", series.group);
  value.set("mark", mark_name(series.mark));
  value.set("seed", series.seed);
  value.set("published", series.published);
  value.set("guide", series.guide);
  value.set("x", short_list(series.x));
  value.set("y", short_list(series.y));
  value.set("low", short_list(series.low));
  value.set("high", short_list(series.high));
  return value;
}

}  // namespace

Value to_value(const Chart& chart) {
  Value value;
  value.set("title", chart.title);
  value.set("note", chart.note);
  value.set("x", axis_value(chart.x));
  value.set("y", axis_value(chart.y));
  Value::List series;
  for (const Series& one : chart.series) series.push_back(series_value(one));
  value.set("series", Value(std::move(series)));
  return value;
}

}  // namespace stap
