// What a search for symmetries found, for people and for programs.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/symmetry.h"
#include "stap/study/symmetry_search.h"

namespace stap {
namespace {

// Of a verdict, for people and for programs.
struct SymmetryWords {
  const char *shown, *written;
};
SymmetryWords verdict_words(const SymmetryTried& row) {
  constexpr SymmetryWords kWords[] = {
      {"ok", "holds"}, {"no", "broken"}, {"failed", "failed"}, {"-", "not told"}};
  return kWords[static_cast<std::size_t>(row.verdict)];
}

std::string off_text(const SymmetryTried& row) {
  const double percent = 100.0 * *row.off;
  return fmt::format(
      "{} {} % of what a step changes",
      row.verdict == SymmetryTried::Verdict::holds ? "to" : "off by",
      percent < 99.5 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent));
}

}  // namespace

std::string symmetry_search_text(const SymmetrySearch& search) {
  std::size_t width = 0;
  for (const SymmetryTried& row : search.rows) width = std::max(width, row.text.size());
  std::string text;
  for (const SymmetryTried& row : search.rows)
    text += fmt::format("{:<{}}  {:<6}  {}\n", row.text, width, verdict_words(row).shown,
                        row.off ? off_text(row) : row.trouble);
  const auto say = [&](std::size_t count, const std::string& why) {
    if (count > 0) text += fmt::format("{} more {}\n", count, why);
  };
  say(search.decided, "were not asked about: they follow from these, or cannot hold beside them");
  say(search.too_many, fmt::format("were not asked about: they make more than {} maps with those "
                                   "that hold",
                                   kMostSymmetries));
  say(search.left, "were not tried: no call was left (--calls)");
  text += fmt::format("{} calls were made\n", search.calls);
  if (!search.mirror && search.left == 0)
    text +=
        "\nNo mirror was found. One about another place than 0, as walls and forcings may have "
        "(x -> 1/4 - x), is not searched: state it in train.symmetries, and stap solver check "
        "tries it.\n";
  if (search.found.empty())
    return text + "\nNone of those that were tried is a symmetry of this solver.\n";
  return text + fmt::format("\nTo train with what holds:\n\ntrain: {{symmetries: [\"{}\"]}}\n",
                            fmt::join(search.found, "\", \""));
}

config::Value to_value(const SymmetrySearch& search) {
  using config::Value;
  Value value;
  value.set("format", "solver-symmetries/1");
  value.set("calls", search.calls);
  Value::List rows;
  for (const SymmetryTried& row : search.rows) {
    Value one;
    one.set("symmetry", row.text);
    one.set("verdict", verdict_words(row).written);
    one.set("off", row.off ? Value(*row.off) : Value());
    one.set("trouble", row.trouble);
    rows.push_back(std::move(one));
  }
  value.set("rows", Value(std::move(rows)));
  value.set("decided", search.decided);
  value.set("too_many", search.too_many);
  value.set("not_tried", search.left);
  value.set("symmetries", Value(Value::List(search.found.begin(), search.found.end())));
  return value;
}

}  // namespace stap
