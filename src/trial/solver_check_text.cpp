// What a check found, for people and for programs.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "stap/trial/solver_check.h"

namespace stap {
namespace {

using Verdict = CheckRow::Verdict;

}  // namespace

std::string_view to_string(CheckRow::Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::warning:
      return "warning";
    case Verdict::failed:
      return "FAILED";
    case Verdict::not_checked:
      break;
  }
  return "-";
}

std::string solver_check_text(const SolverCheck& check, const std::vector<std::string>& advice) {
  std::size_t width = 0;
  for (const CheckRow& row : check.rows) width = std::max(width, row.name.size());
  std::string text;
  for (const CheckRow& row : check.rows)
    text += fmt::format("{:<{}}  {:<7}  {}\n", row.name, width, to_string(row.verdict), row.text);
  text += fmt::format("{} calls were made\n", check.calls);
  if (!advice.empty()) text += "\nadvice\n";
  for (const std::string& sentence : advice) text += fmt::format("- {}\n", sentence);
  return text;
}

config::Value to_value(const SolverCheck& check, const std::vector<std::string>& advice) {
  using config::Value;
  const auto known = [](const std::optional<double>& number) {
    return number ? Value(*number) : Value();
  };
  Value value;
  value.set("format", "solver-check/1");
  value.set("failed", check.any_failed());
  value.set("calls", check.calls);
  Value::List rows;
  for (const CheckRow& row : check.rows) {
    Value one;
    one.set("name", row.name);
    one.set("verdict", row.verdict == Verdict::failed        ? "failed"
                       : row.verdict == Verdict::not_checked ? "not checked"
                                                             : to_string(row.verdict));
    one.set("text", row.text);
    rows.push_back(std::move(one));
  }
  value.set("rows", Value(std::move(rows)));
  value.set("seconds_a_step", known(check.median_seconds()));
  value.set("start_seconds", known(check.start));
  value.set("start_share", known(check.start_share));
  value.set("two_at_a_time", known(check.together));
  value.set("cores", known(check.cores));
  value.set("advice", config::list_of(advice));
  return value;
}

}  // namespace stap
