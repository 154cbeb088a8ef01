#include "stap/report/page.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/assets.h"
#include "report/base64.h"
#include "report/html.h"
#include "report/page_parts.h"
#include "report/page_room.h"
#include "stap/core/sha256.h"
#include "stap/core/version.h"

namespace stap {
namespace {

// 'sha256-...' of a script's text, as a Content-Security-Policy names it.
std::string source_of(std::string_view script) {
  const std::string hex = sha256_hex(std::as_bytes(std::span(script.data(), script.size())));
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes += static_cast<char>(static_cast<unsigned char>(byte));
  }
  return fmt::format("'sha256-{}'", base64(bytes));
}

std::string title_of(const Report& report) {
  std::vector<std::string> names;
  for (const std::string& folder : report.folders) {
    // "." and the like have a name, too.
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(folder, error);
    const std::string name = (error ? std::filesystem::path(folder) : whole).filename().string();
    names.push_back(name.empty() ? folder : name);
  }
  return shortened(fmt::format("{}", fmt::join(names, ", ")));
}

constexpr const char* kReload = "<meta http-equiv=\"refresh\" content=\"5\">\n";  // seconds

std::size_t shown_problems(const Report& report, const PageRoom& room) {
  return std::min(room.problems, report.problems.size());
}

// "Burgers, 64 points, 8 steps · 2 methods × 5 seeds · 144 solver steps each".
std::string study_text(const ReportProblem& problem) {
  std::string text = fmt::format("{}", shortened(problem.table.problem, 60));
  if (problem.grid.size() > 1)
    text += fmt::format(", {} points", fmt::join(problem.grid, " × "));
  else if (const std::size_t n = problem.grid.empty() ? problem.table.points : problem.grid[0];
           n > 0)
    text += fmt::format(", {} points", n);
  text += fmt::format(", {} steps", problem.table.steps);
  if (problem.dt > 0) text += fmt::format(" of {:.4g} time units", problem.dt);
  std::size_t seeds = 0;
  double steps = 0, least = INFINITY;
  for (const TableRow& row : problem.table.rows) seeds = std::max(seeds, row.runs.size());
  for (const ReportMethod& method : problem.methods) {
    steps = std::max(steps, method.solver_steps);
    least = std::min(least, method.solver_steps);
  }
  text += fmt::format(" · {} × {}", count_text(problem.methods.size(), "method"),
                      count_text(seeds, "seed"));
  const bool same = steps <= 1.01 * least;  // failures may leave some unspent
  if (steps > 0)
    text += fmt::format(" · {}{} solver steps each", same ? "" : grouped_digits(least) + " to ",
                        grouped_digits(steps));
  return text;
}

std::string runs_text(const Report& report) {
  return fmt::format("{}: {}", count_text(report.runs.size(), "run"), states_text(report));
}

std::string header_html(const Report& report, const LivePage* live) {
  std::string html = fmt::format(
      "<header class=\"top\"><p class=\"crumbs\"><b>stap</b> · {} · {} · {}</p><div "
      "class=\"tools\"></div></header>\n",
      escaped(title_of(report)),
      report.problems.size() == 1 ? escaped(study_text(report.problems.front()))
                                  : count_text(report.problems.size(), "problem"),
      escaped(runs_text(report)));
  if (live == nullptr) return html;
  const int per_cent = static_cast<int>(100 * std::clamp(live->done, 0.0, 1.0));
  return html +
         fmt::format(
             "<div class=\"underway\"><div class=\"bar\" role=\"progressbar\" "
             "aria-label=\"all runs\" aria-valuenow=\"{0}\"><span "
             "style=\"width:{0}%\"></span></div><p>{1}</p></div>\n",
             live->ended ? 100 : per_cent,
             live->ended
                 ? std::string("All runs have ended; this page no longer updates.")
                 : fmt::format("{} % done{}. This page updates itself.", per_cent,
                               live->left.empty() ? "" : ", " + escaped(live->left) + " left"));
}

// Of several problems together: who is the best one where.
std::string together_html(const Report& report, const std::vector<Headline>& heads,
                          std::size_t shown) {
  std::map<std::string, std::size_t> wins;
  for (std::size_t p = 0; p < heads.size(); ++p)
    if (heads[p].proved) ++wins[report.problems[p].methods[*heads[p].best].label];
  const auto most = std::ranges::max_element(wins, {}, [](const auto& one) { return one.second; });
  std::string html =
      fmt::format("<h1 class=\"finding\">{}</h1>\n<ul class=\"findings\">\n",
                  most == wins.end()
                      ? fmt::format("No clear winner on any of {} problems", heads.size())
                      : fmt::format("{} has the lowest error on {} of {} problems",
                                    escaped(shortened(most->first)), most->second, heads.size()));
  for (std::size_t p = 0; p < shown; ++p)
    html += fmt::format("<li><a href=\"#p{}\">{}</a>: {}</li>\n", p + 1,
                        name_html(report.problems[p].table.problem), prose_html(heads[p].title));
  return html + "</ul>\n";
}

std::string nav_html(const Report& report, std::size_t shown) {
  std::string html = "<nav class=\"side\"><a href=\"#summary\">Finding</a>\n";
  if (shown == 1)
    for (const char* part : {"Errors", "Trajectories", "Chosen time steps", "Parameters", "Budget",
                             "Time and cost", "Training", "What the committee knows"}) {
      if (part == std::string_view("Parameters") &&
          chart_of(report.problems.front(), "parameters") == nullptr)
        continue;
      std::string name = part;
      std::ranges::transform(name, name.begin(), [](unsigned char c) {
        return c == ' ' ? '-' : static_cast<char>(std::tolower(c));
      });
      html += fmt::format("<a href=\"#p1-part-{}\">{}</a>\n", name, part);
    }
  else
    for (std::size_t p = 0; p < shown; ++p)
      html += fmt::format("<a href=\"#p{}\">{}</a>\n", p + 1,
                          escaped(shortened(report.problems[p].table.problem, 40)));
  return html + "<a href=\"#runs\">Runs</a>\n<a href=\"#reading\">How to read this</a></nav>\n";
}

// The words that figures and tables take for granted; of what is not there nothing is said.
std::string reading_html(const Report& report) {
  const auto any = [&](auto is) { return std::ranges::any_of(report.problems, is); };
  const bool tests = any([](const ReportProblem& p) { return !p.table.validation; });
  const bool held_back = any([](const ReportProblem& p) { return p.table.validation; });
  const bool several = report.results.size() > 1;
  const bool fields = any([](const ReportProblem& p) { return !p.fields.empty(); });
  std::string html =
      "<section id=\"reading\"><h2>How to read this</h2>\n<details "
      "class=\"fold\" id=\"reading-fold\"><summary>What the words mean, and what "
      "is in this file</summary>\n<dl>\n";
  const auto entry = [&](bool wanted, std::string_view word, std::string_view meaning) {
    if (wanted) html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", word, meaning);
  };
  entry(tests, "RMSE, NRMSE, MAE",
        "Errors of whole rollouts from the first state of a test trajectory: the root of the mean "
        "square over steps and grid points, the same relative to the size of the states, and the "
        "mean absolute value. Means over trajectories; quantiles (50, 95, 99 %) are over "
        "trajectories, too.");
  entry(held_back, "errors on held-back steps",
        "Without a test set: errors of single steps that were bought and never trained on. More "
        "are held back every round, so rounds do not compare exactly.");
  entry(true, "averaged model, members",
        "The average of the committee's outputs, applied step by step: the model you would deploy. "
        "Its members by themselves, as published tables have them.");
  entry(true, "solver steps",
        "What is paid for: learned time steps that the solver made, the initial trajectories "
        "included.");
  entry(true, "logarithms",
        "Natural; 0.1 lower is about 10 % less error. Means over the rounds tell how good a method "
        "was all along.");
  entry(several, "significant, no difference",
        "Differences are paired by seed. Their 95 % interval (Student's t) is corrected "
        "(Bonferroni) for all pairs of methods, since the best one is picked after the fact. A "
        "difference is significant if its interval leaves out 0; there is no difference if the "
        "whole interval lies within 5 %. Bands in charts are 95 % intervals over seeds, of two "
        "seeds from one to the other.");
  entry(tests, "diverged", "Rollouts that left the finite numbers: their errors are infinite.");
  entry(true, "does it save time",
        "Choosing at random buys everything and trains once; active learning buys less, but trains "
        "and selects every round. It saves time if the solver steps it saves take longer than "
        "that.");
  entry(fields, "easy, typical, hard",
        "Test trajectories by the RMSE of the averaged model after the last round, of all methods "
        "together. Pictures have 8 bits per value and share one scale; states of both signs and "
        "errors are symmetric about 0.");
  return html + fmt::format(
                    "</dl>\n<p>This file needs no network and loads nothing. It holds what it "
                    "shows: errors, chosen steps, times, names of folders, hosts and processors, "
                    "settings that differ between methods{}. It holds no networks and no training "
                    "data.</p></details>\n",
                    fields ? ", and a few states of test trajectories" : "");
}

std::string page_policy() {
  return fmt::format(
      "default-src 'none'; script-src {} {}; style-src 'unsafe-inline'; img-src data:; base-uri "
      "'none'; form-action 'none'",
      source_of(uplot_script()), source_of(page_script()));
}

std::string whole_page(const Report& report, const PageRoom& room, const LivePage* live) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"generator\" content=\"stap\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"{}\">\n{}<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" "
      "content=\"no-referrer\">\n<title>{}</title>\n<style>{}</style>\n<style>{}</style>\n</head>\n"
      "<body>\n",
      page_policy(), live != nullptr && !live->ended ? kReload : "", escaped(title_of(report)),
      uplot_style(), page_style());
  const std::size_t shown = shown_problems(report, room);
  std::vector<Headline> heads;
  for (const ReportProblem& problem : report.problems)
    heads.push_back(headline_of(report, problem));
  html += header_html(report, live) + "<main>\n<section id=\"summary\">\n";
  if (heads.size() == 1 && shown == 1)
    html += first_html("p1", report.problems[0], heads[0], 1);
  else
    html += together_html(report, heads, shown);
  if (!room.words.empty())
    html += fmt::format(
        "<p class=\"how\">To keep this page below 5\u00a0MB it leaves out: {}. 'stap report' of "
        "fewer folders shows them, 'stap plot' draws them, and --json has the numbers.</p>\n",
        escaped(room.words));
  html += "</section>\n<div class=\"rest\">\n" + nav_html(report, shown) + "<div>\n";
  for (std::size_t p = 0; p < shown; ++p) {
    const std::string id = fmt::format("p{}", p + 1);
    html += fmt::format("<section id=\"{}\" class=\"problem\">\n", id);
    if (heads.size() > 1)
      html += fmt::format("<p class=\"crumbs\">{}</p>\n{}", escaped(study_text(report.problems[p])),
                          first_html(id, report.problems[p], heads[p], 2));
    html += problem_html(id, report.problems[p], heads[p]) + "</section>\n";
  }
  html += runs_html(report, room.runs) + reading_html(report);
  html += fmt::format(
      "<details><summary>Charts that can be zoomed are drawn by uPlot; its "
      "licence</summary><pre>{}</pre></details>"
      "</section>\n</div>\n</div>\n</main>\n",
      escaped(uplot_licence()));
  html += fmt::format("<script type=\"application/json\" id=\"report-data\">{}</script>\n",
                      page_data(report, shown, heads));
  html += fmt::format("<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n",
                      uplot_script(), page_script());
  return html;
}

}  // namespace

std::string page_text(const Report& report, const LivePage* live) {
  std::string page = whole_page(report, {}, live);
  if (page.size() <= kPageBytes) return page;
  Report smaller = report;
  PageRoom room;
  while (page.size() > kPageBytes && leave_out(smaller, room))
    page = whole_page(smaller, room, live);
  return page;
}

std::vector<Finding> findings(const Report& report) {
  std::vector<Finding> all{{"", runs_text(report) + "."}};
  for (const ReportProblem& problem : report.problems) {
    const Headline head = headline_of(report, problem);
    const auto say = [&](const std::string& text) {
      if (!text.empty()) all.push_back({problem.table.problem, text});
    };
    say(head.title + ".");
    say(head.text);
    say(head.about);
    for (const Tile& tile : head.tiles)
      say(fmt::format("{}: {}{}. {}", tile.question, tile.answer,
                      tile.pill.empty() ? "" : " (" + tile.pill + ")", tile.details));
    if (!head.advice.empty()) say(head.advice + (head.command.empty() ? "." : ": " + head.command));
    for (const std::string& remark : head.remarks) say(remark);
  }
  return all;
}

std::string summary_markdown(const Report& report, const std::vector<Headline>& heads) {
  std::string text;
  for (std::size_t p = 0; p < heads.size(); ++p) {
    const Headline& head = heads[p];
    text += fmt::format("**{}.** {}\n\n", head.title, head.text);
    for (const Tile& tile : head.tiles)
      text += fmt::format("- {}: **{}**{}. {}\n", tile.question, tile.answer,
                          tile.pill.empty() ? "" : " (" + tile.pill + ")", tile.details);
    if (!head.command.empty()) text += fmt::format("\n{}:\n\n    {}\n", head.advice, head.command);
    text += fmt::format("\n{}{}{}\n\n", study_text(report.problems[p]),
                        head.about.empty() ? "" : ". ", head.about);
  }
  return text + fmt::format("stap {}, {}\n", version(), title_of(report));
}

}  // namespace stap
