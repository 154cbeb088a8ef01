// What a search for symmetries found, for people and for programs.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/symmetry.h"
#include "stap/trial/symmetry_search.h"

namespace stap {
namespace {

// Of a verdict, for people and for programs.
struct SymmetryWords {
  const char *shown, *written;
};
SymmetryWords verdict_words(const SymmetryTried& row) {
  constexpr SymmetryWords kWords[] = {{"ok", "holds"},
                                      {"nearly", "nearly"},
                                      {"no", "broken"},
                                      {"failed", "failed"},
                                      {"-", "not told"}};
  return kWords[static_cast<std::size_t>(row.verdict)];
}

constexpr double kRounding = 1e-10;  // per cent

std::string off_text(const SymmetryTried& row) {
  const double percent = 100.0 * *row.off;
  if (row.verdict == SymmetryTried::Verdict::holds && percent < kRounding)
    return fmt::format("exact to rounding ({:.2g} % of what a step changes)", percent);
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
                        row.trouble.empty() ? off_text(row) : row.trouble);
  const auto say = [&](std::size_t count, const std::string& why) {
    if (count > 0) text += fmt::format("{} more {}\n", count, why);
  };
  say(search.decided, "need no test: these results decide them");
  say(search.too_many, fmt::format("were not asked about: they make more than {} maps with those "
                                   "that hold",
                                   kMostSymmetries));
  const char* why_left = search.stopped ? "interrupted" : "no call was left (--calls)";
  say(search.left, fmt::format("were not tried: {}", why_left));
  text += fmt::format("{} calls were made\n", search.calls);
  if (search.rows.empty()) return text + fmt::format("\nNothing was tried: {}.\n", why_left);
  if (search.nothing_told()) return text + "\nNothing could be told: every call failed.\n";
  if (!search.unmirrored.empty() && search.left == 0)
    text += fmt::format(
        "\nNo mirror of {} was found. Between walls (pde.walls) the one about the middle is tried, "
        "elsewhere the one about 0. Another, as forcings may have (x -> 1/4 - x), is not searched: "
        "state it in train.symmetries, and stap solver check tries it.\n",
        search.unmirrored);
  if (search.states == 1)
    text += "\nOne initial condition alone could be advanced: what holds for it may be its own.\n";
  if (!search.unseen.empty())
    text += fmt::format(
        "\n{} {} 0 in all initial conditions that were tried: what is said here is not said of "
        "states in which that is not so.\n",
        fmt::join(search.unseen, ", "), search.unseen.size() == 1 ? "is" : "are");
  if (search.found.empty())
    return text + "\nNone of those that were tried is a symmetry of this solver.\n";
  return text + fmt::format(
                    "\nTo train with what holds, in the section train:\n\n  symmetries: "
                    "[\"{}\"]\n",
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
  value.set("interrupted", search.stopped);
  value.set("states", search.states);
  value.set("unseen_channels", config::list_of(search.unseen));
  value.set("symmetries", config::list_of(search.found));
  return value;
}

}  // namespace stap
